import type { RecordedCall } from '../../contract/calls.ts';
import { parsePartReference } from '../../contract/references.ts';
import { Refusal } from '../../core/http/refusal.ts';
import { exactJson } from '../../core/json/exact-number.ts';
import { isJsonObject, type Members } from '../../core/json/json-object.ts';
import { memberAt } from '../../core/json/member-at.ts';
import type { RequestBudget } from '../request-budget.ts';
import type { Database, ProjectFilter } from '../storage/database.ts';
import { memoryBytesOf } from '../storage/memory-bytes.ts';
import { createPartReader } from '../storage/read-part.ts';

/** The value of a reference, and the number of characters of its JSON. */
interface Expanded {
  value: unknown;
  chars: number;
}

/** Maximum number of characters of JSON that references of one response are replaced by. */
const maxExpandedChars = 64 * 1024 * 1024;

/**
 * Replaces the references at the given paths of calls by their values; an object also keeps its reference, as `_ref`. A
 * reference without a value that the account may see stays, and so do all that exceed 64 Mi characters together with those before.
 */
type ExpandReferences = (calls: readonly RecordedCall[], columns: readonly string[]) => Promise<void>;

/** Returns the function that expands the references in the calls of one response, which has a maximum number of characters for them. */
export function referenceExpander(
  database: Database,
  maySee: ProjectFilter,
  budget: RequestBudget,
  maxChars = maxExpandedChars,
): ExpandReferences {
  const read = createPartReader(database, maySee, budget);
  let chars = 0;
  let heldBytes = 0;

  /** Reads the value of a reference, and holds its memory; a value that is too large for this response is undefined. */
  async function readExpanded(reference: string): Promise<Expanded | undefined> {
    const parsed = parsePartReference(reference);
    try {
      const value = parsed && (await read(parsed));
      if (value === undefined) return undefined;
      const json = exactJson(value);
      await budget.parse(json.length);
      const bytes = memoryBytesOf(json);
      budget.hold(bytes);
      heldBytes += bytes;
      return { value: isJsonObject(value) ? { ...value, _ref: reference } : value, chars: json.length };
    } catch (error) {
      if (error instanceof Refusal && error.status === 413) return undefined;
      throw error;
    }
  }

  return async (calls, columns) => {
    budget.release(heldBytes);
    heldBytes = 0;
    // Shorter paths go first, so that a longer one can lead into an object.
    const paths = columns.map((column) => column.split('.')).sort((a, b) => a.length - b.length);
    const known = new Map<string, Expanded | undefined>();
    for (const path of paths) {
      for (const call of calls) {
        const parent = memberAt(call, path.slice(0, -1));
        const name = path.at(-1)!;
        const reference = memberAt(parent, [name]);
        if (typeof reference !== 'string') continue;
        if (!known.has(reference)) known.set(reference, await readExpanded(reference));
        const expanded = known.get(reference);
        if (!expanded || chars + expanded.chars > maxChars) continue;
        chars += expanded.chars;
        (parent as Members)[name] = expanded.value;
      }
    }
  };
}
