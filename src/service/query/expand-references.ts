import type { RecordedCall } from '../../contract/calls.ts';
import { parsePartReference } from '../../contract/references.ts';
import { isJsonObject, type Members } from '../../core/json/json-object.ts';
import { memberAt } from '../../core/json/member-at.ts';
import { Pacer } from '../../core/turns.ts';
import type { ProjectFilter, Transaction } from '../storage/database.ts';
import { createPartReader, type PartReader } from '../storage/read-part.ts';

/** Maximum number of characters of JSON that references of one response are replaced by. */
const maxExpandedChars = 64 * 1024 * 1024;

/**
 * Replaces the references at the given paths of calls by their values; an object also keeps its reference, as `_ref`. A
 * reference without a value that the account may see stays, and so do all that exceed 64 Mi characters together with those before.
 */
type ExpandReferences = (
  transaction: Transaction,
  calls: readonly RecordedCall[],
  columns: readonly string[],
) => Promise<void>;

/** Returns the function that expands the references in the calls of one response. */
export function referenceExpander(maySee: ProjectFilter): ExpandReferences {
  let chars = 0;
  return async (transaction, calls, columns) => {
    // Shorter paths go first, so that a longer one can lead into an object.
    const paths = columns.map((column) => column.split('.')).sort((a, b) => a.length - b.length);
    const known = new Map<string, { value: unknown; chars: number }>();
    const read = createPartReader(transaction, maySee);
    const pacer = new Pacer();
    for (const path of paths) {
      for (const call of calls) {
        const parent = memberAt(call, path.slice(0, -1));
        const name = path.at(-1)!;
        const reference = memberAt(parent, [name]);
        if (typeof reference !== 'string') continue;
        await pacer.pause();
        let expanded = known.get(reference);
        if (!expanded) {
          expanded = await readExpanded(reference, read);
          // A value that is too large for this response is not kept: it would fill the memory.
          if (chars + expanded.chars > maxExpandedChars) expanded = { value: reference, chars: 0 };
          known.set(reference, expanded);
        }
        if (chars + expanded.chars > maxExpandedChars) continue;
        chars += expanded.chars;
        (parent as Members)[name] = expanded.value;
      }
    }
  };
}

/** Reads the value of a reference and its size; a reference that does not resolve is its own value. */
async function readExpanded(reference: string, read: PartReader): Promise<{ value: unknown; chars: number }> {
  const parsed = parsePartReference(reference);
  const value = parsed && (await read(parsed));
  if (value === undefined) return { value: reference, chars: 0 };
  return { value: isJsonObject(value) ? { ...value, _ref: reference } : value, chars: JSON.stringify(value).length };
}
