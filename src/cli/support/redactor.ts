import { Redactor } from '../../core/redaction.ts';

/** The redactor of this process: a command is one run, and crash reports need its secrets too. */
export const redactor = new Redactor();
