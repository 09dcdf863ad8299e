import type { CompletedCall } from '../../contract/calls.ts';
import { splitProjectId } from '../../contract/identifiers.ts';
import { formatReference, referenceScheme } from '../../contract/references.ts';
import { isJsonObject } from '../../core/json/json-object.ts';
import { ownMember } from '../../core/json/member-at.ts';
import { toStorableText } from '../storage/storable-text.ts';
import {
  type Attributes,
  exactInteger,
  findAttribute,
  integerOf,
  listOf,
  messageOf,
  type ParseJson,
  readAttributes,
  stringOf,
} from './attributes.ts';
import {
  type AttributeName,
  customNames,
  describingNames,
  displayNames,
  inputNames,
  outputNames,
  threadNames,
  turnNames,
  usageNames,
} from './conventions.ts';
import { SpanFault } from './otlp-error.ts';

/** A recorded call that a span became. It has no `ended_at` if the span had not ended. */
export type SpanCall = Omit<CompletedCall, 'ended_at'> & { ended_at?: string };

/** The resource of spans: the program that made them. */
export interface Resource {
  attributes: Attributes;
  /** The member `resource` of `attributes.otel_span`. */
  shown: object;
}

/** Reads the resource of a group of spans. @throws SpanFault for one that is not a resource. */
export function readSpanResource(value: unknown, parseJson: ParseJson): Resource {
  const { attributes: given, droppedAttributesCount } = messageOf(value, 'resource');
  const attributes = readAttributes(given, parseJson);
  return { attributes, shown: { attributes: attributes.nested, ...droppedCount(droppedAttributesCount) } };
}

/** Returns the project that `wandb.entity` and `wandb.project` of a resource name. */
export function projectOfResource({ attributes }: Resource): string | undefined {
  const [entity, project] = ['wandb.entity', 'wandb.project'].map((name) => attributes.byName.get(name));
  return entity == null || project == null ? undefined : `${entity}/${project}`;
}

/**
 * Converts a span in OTLP's JSON encoding to a recorded call, as the public service does. See docs/opentelemetry.md.
 * @throws SpanFault for a span without ids or a start, or with other faults.
 */
export function spanToCall(value: unknown, resource: Resource, project_id: string, parseJson: ParseJson): SpanCall {
  const span = messageOf(value, 'span');
  const id = idOf(span.spanId, 8, 'spanId');
  const trace_id = idOf(span.traceId, 16, 'traceId');
  if (!id || !trace_id) throw new SpanFault('A span must have a spanId and a traceId');
  const parent_id = idOf(span.parentSpanId, 8, 'parentSpanId') || null;
  const started_at = timeOf(span.startTimeUnixNano, 'startTimeUnixNano');
  if (!started_at) throw new SpanFault('A span must have a startTimeUnixNano');
  const ended_at = timeOf(span.endTimeUnixNano, 'endTimeUnixNano');
  const name = stringOf(span.name, 'name');
  const own = readAttributes(span.attributes, parseJson);
  const events = listOf(span.events, 'events').map((event) => readEvent(event, parseJson));
  const status = readStatus(span.status);
  const thread_id = shortText(findAttribute(own, threadNames)?.value);
  const isTurn = Boolean(findAttribute(own, turnNames)?.value);
  const described = membersOf(own, describingNames);
  const custom = findAttribute(own, customNames)?.value;
  const { inputs, output, hasValues } = valuesOf(own, events);
  const { model, usage } = usageOf(own, described);
  const hasUsage = Object.values(usage).some((count) => count !== null);
  const isKnown = hasValues || hasUsage || Object.keys(described).length > 0;
  return {
    project_id,
    id,
    trace_id,
    parent_id,
    op_name: operationOf(project_id, name),
    display_name: shortText(findAttribute(own, displayNames)?.value),
    thread_id,
    turn_id: thread_id !== null && isTurn ? id : null,
    started_at,
    ...(ended_at && { ended_at }),
    attributes: {
      ...(isKnown ? described : own.nested),
      ...(isJsonObject(custom) && custom),
      otel_span: {
        name,
        context: { trace_id, span_id: id, trace_state: stringOf(span.traceState, 'traceState') },
        kind: enumOf(span.kind, spanKinds, 'SPAN_KIND_'),
        parent_id,
        start_time: shownTime(started_at),
        end_time: ended_at ? shownTime(ended_at) : null,
        status,
        attributes: own.nested,
        events: events.map(({ shown }) => shown),
        links: listOf(span.links, 'links').map((link) => readLink(link, parseJson)),
        resource: resource.shown,
      },
    },
    inputs,
    output,
    summary: { usage: { [model]: usage } },
    exception: status.code === 'ERROR' ? toStorableText(status.message || messageOfException(events)) : null,
  };
}

const spanKinds = ['UNSPECIFIED', 'INTERNAL', 'SERVER', 'CLIENT', 'PRODUCER', 'CONSUMER'];
const statusCodes = ['UNSET', 'OK', 'ERROR'];

/** Reads an enumeration, which JSON has as a number or as a name. An unknown one is the first, which says nothing. */
function enumOf(value: unknown, names: readonly string[], prefix: string): string {
  const name = typeof value === 'number' ? names[value] : names.find((each) => value === prefix + each);
  return name ?? names[0]!;
}

function readStatus(value: unknown): { code: string; message: string } {
  const { code, message } = messageOf(value, 'status');
  return { code: enumOf(code, statusCodes, 'STATUS_CODE_'), message: stringOf(message, 'message') };
}

interface SpanEvent {
  name: string;
  attributes: Attributes;
  shown: object;
}

function readEvent(value: unknown, parseJson: ParseJson): SpanEvent {
  const event = messageOf(value, 'event');
  const name = stringOf(event.name, 'name');
  const attributes = readAttributes(event.attributes, parseJson);
  const timestamp = exactInteger(integerOf(event.timeUnixNano, 'timeUnixNano'));
  const shown = { name, timestamp, attributes: attributes.nested, ...droppedCount(event.droppedAttributesCount) };
  return { name, attributes, shown };
}

function readLink(value: unknown, parseJson: ParseJson): object {
  const link = messageOf(value, 'link');
  return {
    trace_id: idOf(link.traceId, 16, 'traceId'),
    span_id: idOf(link.spanId, 8, 'spanId'),
    trace_state: stringOf(link.traceState, 'traceState'),
    attributes: readAttributes(link.attributes, parseJson).nested,
    ...droppedCount(link.droppedAttributesCount),
    flags: Number(integerOf(link.flags, 'flags')),
  };
}

function droppedCount(value: unknown): { dropped_attributes_count: number } {
  return { dropped_attributes_count: Number(integerOf(value, 'droppedAttributesCount')) };
}

/** Reads an id as hexadecimal in lower case. Some encoders write base64 into JSON, as other messages of protobuf have it. */
function idOf(value: unknown, bytes: number, name: string): string {
  const text = stringOf(value, name);
  const hex = text.length === bytes * 2 ? text.toLowerCase() : Buffer.from(text, 'base64').toString('hex');
  if (text !== '' && !(hex.length === bytes * 2 && /^[\da-f]*$/.test(hex))) {
    throw new SpanFault(`${name} must have ${bytes} bytes, in hexadecimal or base64`);
  }
  return /^0*$/.test(hex) ? '' : hex;
}

/** Reads a time in nanoseconds since 1970 as ISO 8601 with microseconds; undefined for 0. */
function timeOf(value: unknown, name: string): string | undefined {
  const nanoseconds = integerOf(value, name);
  if (nanoseconds === 0n) return undefined;
  if (nanoseconds < 0n || nanoseconds >= 2n ** 64n) throw new SpanFault(`${name} is out of range`);
  const iso = new Date(Number(nanoseconds / 1_000_000n)).toISOString();
  const microseconds = `${(nanoseconds / 1_000n) % 1_000n}`.padStart(3, '0');
  return `${iso.slice(0, -1)}${microseconds}Z`;
}

/** Formats a time as the public service shows it in `otel_span`: without a zone, and without a fraction that is 0. */
function shownTime(time: string): string {
  return time.replace(/(\.000000)?Z$/, '');
}

/** Maximum length of a name of an operation. */
const maxNameChars = 128;

/** The public service gives this version to every operation of which it knows only the name. */
const unknownVersion = 'XNI9iHYwcffKfuDa2rGjQoIxUOw7cnWmLEiNufRD8RY';

function operationOf(projectId: string, spanName: string): string {
  const safe = spanName.slice(0, 2 * maxNameChars).replaceAll(/[^\p{L}\p{N}_.-]+/gu, '_');
  const name = [...safe].slice(0, maxNameChars).join('') || 'unnamed';
  const project = splitProjectId(projectId);
  return formatReference({ scheme: referenceScheme, ...project, kind: 'op', name, version: unknownVersion });
}

function membersOf(
  attributes: Attributes,
  names: typeof describingNames,
): Partial<Record<keyof typeof names, unknown>> {
  const entries = Object.entries(names).map(([member, candidates]) => [
    member,
    findAttribute(attributes, candidates)?.value,
  ]);
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined));
}

function shortText(value: unknown): string | null {
  if (value == null) return null;
  return toStorableText(typeof value === 'string' ? value : JSON.stringify(value)) || null;
}

/** Finds inputs and output in the attributes of a span, or else in its events, where older conventions have them. */
function valuesOf(own: Attributes, events: readonly SpanEvent[]) {
  const sources = [own, ...events.filter(({ name }) => name.startsWith('gen_ai.')).map(({ attributes }) => attributes)];
  const find = (names: readonly AttributeName[]) => {
    for (const source of sources) {
      const found = findAttribute(source, names);
      if (found) return found;
    }
    return undefined;
  };
  const input = find(inputNames) ?? messagesIn(events, 'gen_ai.input.messages', /^gen_ai\.\w+\.message$/);
  const output = find(outputNames) ?? messagesIn(events, 'gen_ai.output.messages', /^gen_ai\.choice$/);
  const isWhole = ({ name }: { name: string }): boolean => /^(in|out)puts?$/.test(name);
  return {
    hasValues: input !== undefined || output !== undefined,
    inputs: !input ? {} : isWhole(input) && isJsonObject(input.value) ? input.value : { [input.name]: input.value },
    output: !output ? {} : isWhole(output) ? output.value : { [output.name]: output.value },
  };
}

function messagesIn(
  events: readonly SpanEvent[],
  name: string,
  pattern: RegExp,
): { name: string; value: unknown } | undefined {
  const found = events.filter((event) => pattern.test(event.name));
  return found.length === 0 ? undefined : { name, value: found.map(({ attributes }) => attributes.nested) };
}

type Usage = Record<keyof typeof usageNames, number | null>;

/** Finds the numbers of tokens of a span, and the model that they belong to. */
function usageOf(
  own: Attributes,
  described: { model?: unknown; model_parameters?: unknown },
): { model: string; usage: Usage } {
  const count = (names: readonly AttributeName[]): number | null => {
    const value = findAttribute(own, names)?.value;
    const number = typeof value === 'string' ? Number.parseInt(value, 10) : value;
    return typeof number === 'number' && Number.isFinite(number) ? Math.trunc(number) : null;
  };
  const usage = Object.fromEntries(
    Object.entries(usageNames).map(([member, names]) => [member, count(names)]),
  ) as Usage;
  const read = usage.prompt_tokens ?? usage.input_tokens;
  const written = usage.completion_tokens ?? usage.output_tokens;
  if (usage.total_tokens === null && read !== null && written !== null) usage.total_tokens = read + written;
  const model = described.model ?? ownMember(described.model_parameters, 'model');
  return { model: shortText(model) ?? 'usage', usage };
}

/** Returns the message of the exception that a span recorded; otherwise says that it failed. */
function messageOfException(events: readonly SpanEvent[]): string {
  const exception = events.findLast(({ name }) => name === 'exception')?.attributes.byName;
  const parts = ['exception.type', 'exception.message'].map((name) => exception?.get(name));
  return parts.filter((part) => part != null && part !== '').join(': ') || 'The span has the status ERROR';
}
