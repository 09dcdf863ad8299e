import { createHash } from 'node:crypto';
import { callReference, formatReference, parseReference, referenceScheme } from '../../../../contract/references.ts';
import { isJsonObject, type Members } from '../../../../core/json/json-object.ts';
import { ownMember } from '../../../../core/json/member-at.ts';

/** Ids of calls and traces that every service takes: UUIDs, and those of OpenTelemetry. */
const uuid = /^[\da-f]{8}-?([\da-f]{4}-?){3}[\da-f]{12}$/i;
const spanId = /^[\da-f]{16}$/i;

/** The namespace of URLs in RFC 9562. */
const urlNamespace = Buffer.from('6ba7b8119dad11d180b400c04fd430c8', 'hex');

/** Returns the UUID (version 5) of a URL, which any program can compute: the same for the same URL. */
function uuidOfUrl(url: string): string {
  const hash = createHash('sha1').update(urlNamespace).update(url).digest();
  hash[6] = (hash[6]! & 0x0f) | 0x50;
  hash[8] = (hash[8]! & 0x3f) | 0x80;
  const hex = hash.toString('hex', 0, 16);
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

/** Digests at the target, by those here. */
interface Digests {
  /** By `object:digest`. */
  versions: Map<string, string>;
  tables: Map<string, string>;
  /** Of rows whose digest differs. */
  rows: Map<string, string>;
}

/** Tells what the things of a project are called at the target: their project, ids and digests. */
export class CopiedNames {
  readonly project_id: string;
  readonly target_id: string;
  readonly #keepsIds: boolean;
  readonly #prefix: string;
  readonly #callPrefix: string;
  readonly digests: Digests = { versions: new Map(), tables: new Map(), rows: new Map() };
  /** Ids of queues at the target, by those here. */
  readonly queues = new Map<string, string>();
  /** Ids of calls at the target, by those here, as far as they differ. */
  readonly newIds = new Map<string, string>();

  /** @param keepsIds true if the target takes ids of any form. */
  constructor(project_id: string, target_id: string, keepsIds: boolean) {
    this.project_id = project_id;
    this.target_id = target_id;
    this.#keepsIds = keepsIds;
    this.#prefix = `${referenceScheme}:///${project_id}/`;
    this.#callPrefix = callReference(project_id, '');
  }

  /** Returns the id of a call: its own, or, where the target would refuse that, the UUID of the reference to the call here. */
  call(id: string): string {
    if (this.#keepsIds || uuid.test(id) || spanId.test(id)) return id;
    const known = this.newIds.get(id) ?? uuidOfUrl(callReference(this.project_id, id));
    this.newIds.set(id, known);
    return known;
  }

  /** Returns the id of a trace. That of a call which began its trace stays equal to the id of the call. */
  trace(id: string): string {
    return this.#keepsIds || uuid.test(id) ? id : uuidOfUrl(callReference(this.project_id, id));
  }

  /** Returns a reference as it reads at the target; any other text as it is. */
  reference(text: string): string {
    if (!text.startsWith(this.#prefix)) return text;
    // Ids of calls can have characters that names of objects do not have.
    const callId = text.startsWith(this.#callPrefix) ? text.slice(this.#callPrefix.length) : undefined;
    if (callId) return callReference(this.target_id, this.call(callId));
    const [, , , , , , , ...steps] = text.split('/');
    const reference = parseReference(text.split('/', 7).join('/'));
    if (!reference) return text;
    const { kind, name, version } = reference;
    const [entity = '', project = ''] = this.target_id.split('/');
    const there = { ...reference, entity, project };
    if (kind === 'table') there.name = this.digests.tables.get(name) ?? name;
    else if (version !== undefined) there.version = this.digests.versions.get(`${name}:${version}`) ?? version;
    const parts = steps.map((step, at) => (steps[at - 1] === 'id' ? (this.digests.rows.get(step) ?? step) : step));
    return [formatReference(there), ...parts].join('/');
  }

  /** Returns a value with its references as they read at the target; the same value if it has none that differ. */
  value<T>(value: T): T {
    return mapTexts(value, (text) => this.reference(text)) as T;
  }

  /** Returns the attributes of a call, in which runs of evaluations name calls by their ids. */
  attributes(attributes: Members): Members {
    const copied = this.value(attributes);
    if (!isJsonObject(copied.weave)) return copied;
    const members = Object.entries(copied.weave).map(([name, member]) => [
      name,
      typeof member === 'string' && callMembers.has(name) ? this.call(member) : member,
    ]);
    return { ...copied, weave: Object.fromEntries(members) };
  }
}

/** The members of `attributes.weave` that hold ids of calls. */
const callMembers = new Set(['predict_call_id', 'prediction_id', 'evaluation_run_id']);

/** Returns a value with every text in it replaced; what does not change is not copied. */
function mapTexts(value: unknown, map: (text: string) => string): unknown {
  if (typeof value === 'string') return map(value);
  if (Array.isArray(value)) {
    const mapped = value.map((entry) => mapTexts(entry, map));
    return mapped.every((entry, at) => entry === value[at]) ? value : mapped;
  }
  if (!isJsonObject(value)) return value;
  const mapped = Object.entries(value).map(([name, member]) => [name, mapTexts(member, map)] as const);
  // Object.fromEntries keeps a member __proto__ a member.
  return mapped.every(([name, member]) => member === ownMember(value, name)) ? value : Object.fromEntries(mapped);
}

/** Lists the lists of rows of a project to which a value refers. */
export function tablesIn(value: unknown, project_id: string): string[] {
  const digests: string[] = [];
  mapTexts(value, (text) => {
    const reference = text.startsWith(referenceScheme) ? parseReference(text.split('/', 7).join('/')) : undefined;
    if (reference?.kind === 'table' && `${reference.entity}/${reference.project}` === project_id) {
      digests.push(reference.name);
    }
    return text;
  });
  return digests;
}
