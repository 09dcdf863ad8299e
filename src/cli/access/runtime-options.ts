import type { Log } from '../../core/log.ts';
import type { Redactor } from '../../core/secrets/redaction.ts';
import { lineLog } from '../../runtime/line-log.ts';
import type { RuntimeOptions } from '../../runtime/runtime.ts';
import { cacheCredentials } from '../../runtime/stored-credentials.ts';
import type { ResolvedSettings } from '../../settings/resolve-settings.ts';
import { invocation, programName } from '../invocation.ts';

/** Returns the options of a command's runtime. It shares the redactor with reports of crashes. */
export function runtimeOptions(
  resolved: ResolvedSettings,
  program = programName(),
): RuntimeOptions & { redactor: Redactor } {
  return {
    credentials: cacheCredentials(resolved, async (settings) => {
      // Not loaded before a call needs credentials.
      const { readCredentials } = await import('./secrets.ts');
      return readCredentials(settings);
    }),
    redactor: invocation().redactor,
    log: logOf(resolved),
    program,
  };
}

/** Creates the log of a command, which writes lines to stderr. */
export function logOf({ values }: ResolvedSettings): Log {
  const { redactor, stderr } = invocation();
  return lineLog(stderr, values.logLevel, values.logFormat, (text) => redactor.redact(text));
}
