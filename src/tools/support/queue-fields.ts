import * as z from 'zod';
import { annotationFeedbackType } from '../../contract/feedback.ts';
import { formatReference, parseReference, type Reference } from '../../contract/references.ts';
import { HeddleError } from '../../core/errors.ts';
import { fitsSchema } from '../../core/json-schema.ts';
import { concurrently } from './concurrently.ts';
import { isDigest, readVersion } from './object-versions.ts';
import type { ToolContext } from './tool.ts';

type ServiceAccess = Pick<ToolContext, 'service' | 'signal'>;

/** A field of a queue: something that annotators judge. */
export interface QueueField {
  /** Name of the field's object, by which judgements name it. */
  name: string;
  /** Reference with the digest of its version. */
  reference: string;
  /** JSON Schema of its values. */
  schema: Record<string, unknown>;
}

const annotationSpec = z.looseObject({ field_schema: z.record(z.string(), z.unknown()) });

/** Fields that are read at the same time from a service that reads one object a request. */
const concurrentReads = 8;

/**
 * Reads the fields of a queue: the AnnotationSpec objects among its `scorer_refs`. Other references are skipped.
 * @throws HeddleError `not_found` for an unknown queue.
 */
export async function readQueueFields(queueId: string, project: string, access: ServiceAccess): Promise<QueueField[]> {
  const { queue } = await access.service.readQueue(queueId, project, { signal: access.signal });
  const references = (queue.scorer_refs ?? [])
    .map(parseReference)
    .filter((reference): reference is Reference => reference?.kind === 'object');
  const versions = await readVersions(references, access);
  return versions.flatMap(({ reference, val }) => {
    const spec = annotationSpec.safeParse(val);
    return spec.success
      ? [{ name: reference.name, reference: formatReference(reference), schema: spec.data.field_schema }]
      : [];
  });
}

/** A version of an object: its reference, which has a digest, and its value. */
interface Version {
  reference: Reference;
  val: unknown;
}

/** Reads objects with one request, or one by one where a reference has no digest or the service cannot do it at once. */
async function readVersions(references: Reference[], access: ServiceAccess): Promise<Version[]> {
  const { service, signal } = access;
  if (references.length > 0 && references.every(({ version }) => isDigest(version))) {
    try {
      const { vals } = await service.readReferences({ refs: references.map(formatReference) }, { signal });
      return references.map((reference, index) => ({ reference, val: vals[index] }));
    } catch (error) {
      // One field that was deleted makes some services refuse them all.
      if (!(error instanceof HeddleError) || error.retryable || signal.aborted) throw error;
    }
  }
  const found = await concurrently(references, concurrentReads, async (reference) => {
    const object = await readVersion(reference, access);
    return object && { reference: { ...reference, version: object.digest }, val: object.val };
  });
  return found.filter((version) => version !== undefined);
}

/** The type of a judgement and, for a judgement of a field, the reference to the field. */
export interface JudgementType {
  feedback_type: string;
  annotation_ref?: string;
}

/**
 * Returns the type of a judgement, or a sentence that says why the queue does not take it. A queue without fields takes
 * any name, with a feedback type of heddle's own: the service would refuse an annotation without a field.
 */
export function judgementType(name: string, value: unknown, fields: readonly QueueField[]): JudgementType | string {
  if (fields.length === 0) return { feedback_type: `heddle.judgement.${name}` };
  const field = fields.find((candidate) => candidate.name === name);
  if (!field) {
    const known = fields.map((candidate) => `${candidate.name} ${JSON.stringify(candidate.schema)}`);
    return `The queue has no field ${JSON.stringify(name)}; its fields are ${known.join(', ')}`;
  }
  if (!fitsSchema(field.schema, value)) {
    return `${JSON.stringify(value)} does not fit the field ${name}, whose schema is ${JSON.stringify(field.schema)}`;
  }
  return { feedback_type: annotationFeedbackType(name), annotation_ref: field.reference };
}
