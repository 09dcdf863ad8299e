import { serveStdio } from '../runtime/stdio-server.ts';
import { resolveConfig } from '../settings/resolve-settings.ts';
import { type Option, type OptionName, options } from '../settings/settings.ts';
import { offerFlags, resultFlags, serviceFlags } from './support/flag-lists.ts';
import { guarded } from './support/report-failures.ts';

/** `heddle serve` over stdio; undefined for arguments that only the parser of the whole command can judge. */
export function serve(args: readonly string[]): Promise<void> | undefined {
  const flags = flagsIn(args);
  return flags && guarded(() => serveStdio(resolveConfig({ flags, environment: process.env })));
}

/** Flags in the form in which `heddle setup` writes them, `--flag value`; undefined where there is anything else. */
function flagsIn(args: readonly string[]): Partial<Record<OptionName, string>> | undefined {
  const flags: Partial<Record<OptionName, string>> = {};
  for (let at = 0; at < args.length; at++) {
    const name = [...serviceFlags, ...resultFlags, ...offerFlags].find((each) => args[at] === flagOf(each)[0]);
    if (!name) return undefined;
    const takesValue = flagOf(name).length > 1;
    const value = takesValue ? args[++at] : 'true';
    if (value === undefined || value.startsWith('-')) return undefined;
    flags[name] = value;
  }
  return flags;
}

/** A flag, and what stands for its value if it takes one. */
function flagOf(name: OptionName): string[] {
  return ((options[name] as Option).flag ?? '').split(' ');
}
