import { Redactor } from '../../core/redaction.ts';

/** The redactor of the whole process, so that crash reports are free of secrets too. */
export const redactor = new Redactor();
