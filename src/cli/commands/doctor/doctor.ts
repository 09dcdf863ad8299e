import { styleText } from 'node:util';
import type { Command } from 'commander';
import { addSettingFlags, runtimeFlags, settingsOf } from '../../support/flags.ts';
import { redactor } from '../../support/redactor.ts';
import type { Finding } from './finding.ts';

/** Adds `heddle doctor`, which checks one layer after the other and says how to fix what fails. */
export function addDoctor(program: Command): void {
  const doctor = program
    .command('doctor')
    .description(
      'check the configuration, the credentials, the connection and each operation, and say how to fix problems',
    )
    .option('--json', 'print the findings as JSON');
  addSettingFlags(doctor, [...runtimeFlags, 'oauthIssuer']).action(async ({ json }: { json?: true }) => {
    const { runChecks } = await import('./run-checks.ts');
    const findings: Finding[] = [];
    for await (const finding of runChecks(() => settingsOf(doctor))) {
      const redacted = JSON.parse(redactor.redact(JSON.stringify(finding))) as Finding;
      findings.push(redacted);
      if (!json) process.stdout.write(formatFinding(redacted));
    }
    const failures = findings.filter(({ state }) => state === 'failure').length;
    const summary =
      failures === 0 ? 'Nothing failed.' : failures === 1 ? '1 check failed.' : `${failures} checks failed.`;
    process.stdout.write(`${json ? JSON.stringify({ ok: failures === 0, findings }, null, 2) : summary}\n`);
    process.exitCode = failures === 0 ? 0 : 1;
  });
}

const colors = { ok: 'green', warning: 'yellow', failure: 'red' } as const;

function formatFinding({ check, state, message, advice }: Finding): string {
  const line = `${styleText(colors[state], state.padEnd(7))}  ${check}: ${message}\n`;
  return advice === undefined ? line : `${line}         ${advice}\n`;
}
