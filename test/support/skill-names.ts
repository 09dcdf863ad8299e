import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The names of the skills: the folders of `skills`. */
export const skillNames = readdirSync(join(import.meta.dirname, '../../skills')).sort();
