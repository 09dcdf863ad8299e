import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Members } from '../../../../core/json/json-object.ts';
import { ownMember } from '../../../../core/json/member-at.ts';

/** A part of a file that an import changed or left out, with its line and the reason. */
export interface ImportNote {
  file: string;
  line: number;
  message: string;
}

/** A variable in a template of nunjucks, the only part of its language that is taken. */
const variable = /\{\{\s*([\p{L}_][\p{L}\p{N}_]*)\s*\}\}/gu;

/** Returns the path of a file that a text names, if it exists. */
export function fileNamed(text: string, folder: string): string | undefined {
  const name = text.startsWith('file://') ? text.slice('file://'.length) : text;
  if (name.startsWith('/') && text.startsWith('file://')) return fileURLToPath(text);
  if (/[\n*{}]/.test(name) || (!text.startsWith('file://') && !/^\S+\.(txt|md|json|ya?ml|csv|jsonl)$/i.test(name)))
    return undefined;
  const path = resolve(folder, name);
  return existsSync(path) ? path : undefined;
}

/** Returns a template with `{name}` for `{{name}}` and doubled braces; undefined for one that is more than variables. */
export function withPlaceholders(text: string, names: Set<string>): string | undefined {
  if (isProgram(text)) return undefined;
  const parts = text.split(variable);
  return parts
    .map((part, index) => {
      if (index % 2 === 0) return part.replace(/[{}]/g, '$&$&');
      names.add(part);
      return `{${part}}`;
    })
    .join('');
}

function isProgram(text: string): boolean {
  return /\{\{|\{%|\{#/.test(text.replace(variable, ''));
}

/** Fills the variables of a template; returns undefined for one that is more than variables. */
export function fillTemplate(text: string, vars: Members): string | undefined {
  if (isProgram(text)) return undefined;
  return text.replace(variable, (_, name: string) => {
    const value = ownMember(vars, name) ?? '';
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
}
