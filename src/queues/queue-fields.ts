import * as z from 'zod';
import { asServiceFailure } from '../client/as-service-failure.ts';
import type { ServiceClient } from '../client/service-client.ts';
import type { ServiceFacts } from '../client/service-facts.ts';
import { annotationFeedbackType, freeJudgementType } from '../contract/feedback.ts';
import type { Queue } from '../contract/queues.ts';
import {
  formatReference,
  objectNamePattern,
  objectReference,
  parseReference,
  type Reference,
} from '../contract/references.ts';
import { concurrently } from '../core/concurrently.ts';
import type { ErrorCode } from '../core/errors.ts';
import { inBatches } from '../core/in-batches.ts';
import { canonicalJson } from '../core/json/canonical-json.ts';
import { fitsSchema } from '../core/json/json-schema.ts';
import { isDigest, readVersion } from '../records/read-objects.ts';
import { contentId } from './authorship.ts';
import { requireQueue } from './require-queue.ts';

/** A field of a queue: something that annotators judge. */
export interface QueueField {
  /** Name of the field's object, by which judgements name it. */
  name: string;
  /** Reference with the digest of its version. */
  reference: string;
  /** JSON Schema of its values. */
  schema: Record<string, unknown>;
  /** Tells annotators how to judge. */
  description?: string;
}

/** A field that may not be stored yet. */
export type DefinedField = Omit<QueueField, 'reference'>;

const annotationSpec = z.looseObject({
  description: z.string().nullish().catch(undefined),
  field_schema: z.record(z.string(), z.unknown()),
});

/** Requests for single fields that are sent at the same time. */
const concurrentRequests = 8;

/** References that one request may have. */
const refsPerRequest = 1000;

/** What annotators are asked to judge, and how. */
export interface QueueRules {
  fields: readonly QueueField[];
  /** Version of the guidelines. */
  guidelines?: string | undefined;
  /** True if each item wants several opinions, which annotators give independently of each other. */
  wantsSeveral?: boolean;
}

/**
 * Reads the fields of a queue: the AnnotationSpec objects among its `scorer_refs`. Other references are skipped.
 * @throws HeddleError `not_found` for an unknown queue, with the nearest ones.
 */
export async function readQueueFields(
  queueId: string,
  project: string,
  service: ServiceClient,
): Promise<readonly QueueField[]> {
  return (await readQueueRules(queueId, project, service)).fields;
}

/** Reads the fields of a queue as {@link readQueueFields} does, and the version of its guidelines. */
export async function readQueueRules(queueId: string, project: string, service: ServiceClient): Promise<QueueRules> {
  const queue = await requireQueue(queueId, project, service);
  const [fields = []] = await readFieldsOfQueues([queue], service);
  return rulesOf(queue, fields);
}

/** Returns the rules of a queue with these fields. */
export function rulesOf(queue: Queue, fields: readonly QueueField[]): QueueRules {
  const { reviewers_per_item: wanted = 1 } = queue;
  const opinions = typeof wanted === 'object' && wanted ? wanted.people + wanted.agents : (wanted ?? 1);
  return { fields, guidelines: guidelinesVersion(queue), wantsSeveral: opinions > 1 };
}

/** Returns the version of the guidelines of a queue, which follows from their text; undefined without guidelines. */
export function guidelinesVersion({ description }: Pick<Queue, 'description'>): string | undefined {
  return description ? contentId(description).slice(0, 8) : undefined;
}

/** Fields by their reference with a digest, for each service and account: such a version never changes. */
const knownFields = new WeakMap<ServiceFacts, Map<string, QueueField>>();
const maxKnownFields = 10_000;

/**
 * Reads the fields of several queues, in their order, with one request for all of them where the service can do that, and
 * each version once. References to anything else, or to an object that does not exist, are skipped.
 */
export async function readFieldsOfQueues(
  queues: readonly Pick<Queue, 'scorer_refs'>[],
  service: ServiceClient,
): Promise<QueueField[][]> {
  const { facts } = service;
  const known = knownFields.get(facts) ?? new Map<string, QueueField>();
  if (known.size > maxKnownFields) known.clear();
  knownFields.set(facts, known);
  const texts = [...new Set(queues.flatMap(({ scorer_refs }) => scorer_refs ?? []))];
  const references = texts.flatMap((text) => {
    const reference = known.has(text) ? undefined : parseReference(text);
    return reference?.kind === 'object' ? [{ text, reference }] : [];
  });
  const versions = await readVersions(
    references.map(({ reference }) => reference),
    service,
  );
  const fields = new Map(known);
  for (const [index, { text, reference }] of references.entries()) {
    const field = toField(versions[index]);
    if (!field) continue;
    fields.set(text, field);
    if (isDigest(reference.version)) known.set(text, field);
  }
  return queues.map(({ scorer_refs }) => (scorer_refs ?? []).flatMap((text) => fields.get(text) ?? []));
}

/** A version of an object: its reference, which has a digest, and its value. */
interface Version {
  reference: Reference;
  val: unknown;
}

function toField(version: Version | undefined): QueueField | undefined {
  const spec = annotationSpec.safeParse(version?.val);
  if (!version || !spec.success) return undefined;
  const { description, field_schema } = spec.data;
  return {
    name: version.reference.name,
    reference: formatReference(version.reference),
    schema: field_schema,
    ...(description && { description }),
  };
}

/**
 * Reads objects in the order of their references; undefined for one that does not exist. Those with a digest take one
 * request together, the others one each.
 */
async function readVersions(
  references: readonly Reference[],
  service: ServiceClient,
): Promise<(Version | undefined)[]> {
  const found = new Map<Reference, Version | undefined>();
  const withDigest = references.filter(({ version }) => isDigest(version));
  for (const batch of inBatches(withDigest, refsPerRequest)) await readTogether(batch, found, service);
  await concurrently(
    references.filter((reference) => !found.has(reference)),
    concurrentRequests,
    async (reference) => {
      const object = await readVersion(reference, service);
      const version = object && { reference: { ...reference, version: object.digest }, val: object.val };
      found.set(reference, version);
    },
  );
  return references.map((reference) => found.get(reference));
}

/** Errors that one of many references can cause. */
const refusals = new Set<ErrorCode>(['not_found', 'invalid_request', 'validation_failed', 'too_large']);

/** Reads objects with one request, and adds them to `found` unless the service refuses that request. */
async function readTogether(
  references: Reference[],
  found: Map<Reference, Version | undefined>,
  service: ServiceClient,
): Promise<void> {
  try {
    const { vals } = await service.call('readReferences', { body: { refs: references.map(formatReference) } });
    for (const [index, reference] of references.entries()) found.set(reference, { reference, val: vals[index] });
  } catch (error) {
    const failure = asServiceFailure(error, service);
    if (failure.retryable) throw failure;
    // One field that was deleted makes some services refuse them all; halves leave few to be read one by one.
    if (!refusals.has(failure.code) || references.length <= concurrentRequests) return;
    const half = Math.ceil(references.length / 2);
    await readTogether(references.slice(0, half), found, service);
    await readTogether(references.slice(half), found, service);
  }
}

/** A field as a reader of a queue needs it: a type with its bounds, the choices, or else the JSON Schema. */
const fieldSummary = z.object({
  name: z.string(),
  type: z.string().optional(),
  choices: z.array(z.unknown()).optional(),
  min: z.number().optional(),
  max: z.number().optional(),
  schema: z.record(z.string(), z.unknown()).optional(),
  description: z.string().optional(),
});
export type FieldSummary = z.output<typeof fieldSummary>;

/** Result member with the summaries of fields. */
export const fieldSummaries = z
  .array(fieldSummary)
  .optional()
  .describe(
    'What to judge: name, type with min and max or choices, description. Without fields, judgements have any name.',
  );

/** Keywords of a JSON Schema that a summary expresses, and those that restrict nothing. */
const summarizedKeywords = new Set(['type', 'enum', 'minimum', 'maximum', 'title', 'description', 'default']);

/** The format in the schema of a field that takes the answer as it should have been. */
const correctionFormat = 'correction';

/** Returns the summary of a field. */
export function summarizeField({ name, schema, description }: DefinedField): FieldSummary {
  const about = description === undefined ? {} : { description };
  const { format, ...constraints } = schema;
  const { type, enum: choices, minimum, maximum } = constraints;
  const known = format === correctionFormat ? constraints : schema;
  const isSimple = Object.keys(known).every((keyword) => summarizedKeywords.has(keyword));
  if (isSimple && Array.isArray(choices)) return { name, choices, ...about };
  if (!isSimple || typeof type !== 'string') return { name, schema, ...about };
  // Fields that other programs have made say it with their name.
  const isCorrection = type === 'string' && (format === correctionFormat || /correct(ed|ion)/i.test(name));
  return {
    name,
    type: isCorrection ? 'correction' : type === 'string' ? 'text' : type,
    ...(typeof minimum === 'number' && { min: minimum }),
    ...(typeof maximum === 'number' && { max: maximum }),
    ...about,
  };
}

/** Returns whether a field takes any text: nobody needs to write one, and two texts that differ are no dispute. */
export function isFreeText({ schema }: QueueField): boolean {
  return schema.type === 'string' && schema.enum === undefined;
}

/** Returns the names of the fields that take any text. */
export function freeTextsAmong(fields: readonly QueueField[]): Set<string> {
  return new Set(fields.filter(isFreeText).map(({ name }) => name));
}

/** Returns the names of the fields that need a value and are not among those that have been judged. */
export function unjudgedFields(fields: readonly QueueField[], judged: ReadonlySet<string>): string[] {
  return fields.filter((field) => !isFreeText(field) && !judged.has(field.name)).map(({ name }) => name);
}

/** The types of fields that a queue can be created with; `string`, as a schema says it, is another name of `text`. */
export const fieldTypes = ['boolean', 'number', 'integer', 'string', 'text', 'choice', 'correction'] as const;

export interface FieldDefinition {
  name: string;
  type: (typeof fieldTypes)[number];
  choices?: string[] | undefined;
  min?: number | undefined;
  max?: number | undefined;
  description?: string | undefined;
}

/** The name in `retract` that stands for one's notes, and therefore for no field. */
export const notes = 'note';
export const notesNameFault = `cannot be ${notes}, which stands for the notes of annotators`;

const field = z
  .strictObject({
    name: z
      .string()
      .refine((name) => objectNamePattern.test(name), 'must be 1 to 128 letters, digits, _ . or -')
      .refine((name) => name !== notes, notesNameFault)
      .describe('Letters, digits, _ . or -'),
    type: z.enum(fieldTypes),
    choices: z.array(z.string()).min(1).optional(),
    min: z.number().optional(),
    max: z.number().optional(),
    description: z.string().optional().describe('What to judge.'),
  })
  .superRefine((definition, context) => {
    for (const { member, message } of faultsOf(definition)) {
      context.addIssue({ code: 'custom', path: [member], message });
    }
  });

export const fieldDefinitions = z
  .array(field)
  .max(100)
  .superRefine((fields, context) => {
    for (const [index, { name }] of fields.entries()) {
      const isRepeated = fields.findIndex((other) => other.name.toLowerCase() === name.toLowerCase()) < index;
      if (isRepeated) context.addIssue({ code: 'custom', path: [index, 'name'], message: `${name} appears twice` });
    }
  });

/** Returns the faults of a definition that its schema cannot express. */
function faultsOf({ type, choices, min, max }: FieldDefinition): { member: string; message: string }[] {
  const faults: { member: string; message: string }[] = [];
  if (type === 'choice' && !choices) faults.push({ member: 'choices', message: 'is needed for the type choice' });
  if (type !== 'choice' && choices) faults.push({ member: 'choices', message: 'fits only the type choice' });
  if (choices && new Set(choices).size < choices.length)
    faults.push({ member: 'choices', message: 'has a value twice' });
  for (const [member, bound] of Object.entries({ min, max })) {
    if (bound === undefined) continue;
    if (type !== 'number' && type !== 'integer') {
      faults.push({ member, message: 'fits only the types number and integer' });
    } else if (type === 'integer' && !Number.isInteger(bound)) {
      faults.push({ member, message: 'must be an integer' });
    }
  }
  if (min !== undefined && max !== undefined && min > max) {
    faults.push({ member: 'min', message: 'must not be greater than max' });
  }
  return faults;
}

/** Returns the JSON Schema of a field's values. */
export function fieldSchema({
  type,
  choices,
  min,
  max,
}: Pick<FieldDefinition, 'type' | 'choices' | 'min' | 'max'>): Record<string, unknown> {
  if (type === 'choice') return { type: 'string', enum: choices };
  if (type === 'correction') return { type: 'string', format: correctionFormat };
  if (type === 'text') return { type: 'string' };
  return { type, ...(min !== undefined && { minimum: min }), ...(max !== undefined && { maximum: max }) };
}

/** Returns the field that a definition describes. */
export function definedField({ name, description, ...bounds }: FieldDefinition): DefinedField {
  return { name, schema: fieldSchema(bounds), ...(description && { description }) };
}

/** Returns whether a field is what a definition describes. */
export function isSameField({ reference: _, ...field }: QueueField, definition: FieldDefinition): boolean {
  return canonicalJson(field) === canonicalJson(definedField(definition));
}

/** Stores fields as AnnotationSpec objects, and returns them in their order. The same field again is the same version. */
export async function storeFields(
  definitions: readonly FieldDefinition[],
  project_id: string,
  service: ServiceClient,
): Promise<QueueField[]> {
  return concurrently(definitions, concurrentRequests, async (definition) => {
    const field = definedField(definition);
    const { name, schema, ...about } = field;
    const val = { name, ...about, field_schema: schema };
    const obj = { project_id, object_id: name, val, builtin_object_class: 'AnnotationSpec' };
    const { digest } = await service.call('createObject', { body: { obj } });
    return { ...field, reference: objectReference(project_id, name, digest) };
  });
}

/** Renders fields as one line, like `helpful (boolean): Does it help?; score (integer, 1 to 5)`. */
export function renderFields(fields: readonly FieldSummary[]): string {
  return fields
    .map(({ name, type, choices, min, max, schema, description }) => {
      const values = choices ? `one of ${JSON.stringify(choices)}` : (type ?? JSON.stringify(schema));
      const bounds =
        min !== undefined && max !== undefined
          ? `, ${min} to ${max}`
          : `${min === undefined ? '' : `, at least ${min}`}${max === undefined ? '' : `, at most ${max}`}`;
      return `${name} (${values}${bounds})${description === undefined ? '' : `: ${description}`}`;
    })
    .join('; ');
}

/** Renders fields as {@link renderFields} does, without their descriptions. */
export function renderTypes(fields: readonly DefinedField[]): string {
  return renderFields(fields.map(({ name, schema }) => summarizeField({ name, schema })));
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
  if (fields.length === 0) return { feedback_type: freeJudgementType(name) };
  const field = fields.find((candidate) => candidate.name === name);
  if (!field) {
    return `The queue has no field ${JSON.stringify(name)}; its fields are ${renderTypes(fields)}`;
  }
  if (!fitsSchema(field.schema, value)) {
    return `${JSON.stringify(value)} does not fit the field ${renderTypes([field])}`;
  }
  return { feedback_type: annotationFeedbackType(name), annotation_ref: field.reference };
}
