import { styleText } from 'node:util';
import type { Command } from 'commander';
import { serviceFlags } from '../../support/flag-lists.ts';
import { addSettingFlags, settingsOf } from '../../support/flags.ts';
import { redactor } from '../../support/redactor.ts';

/** One line of the doctor's report. */
export interface Finding {
  check: string;
  state: 'ok' | 'warning' | 'failure';
  says: string;
  /** What to do, where there is something to do. */
  advice?: string;
}

const finding =
  (state: Finding['state']) =>
  (check: string, says: string, advice?: string): Finding => ({ check, state, says, advice });
export const ok = finding('ok');
export const warning = finding('warning');
export const failure = finding('failure');

/** Work that finds things out, one after another. What it throws is a failure of its own line. */
export type Check = () => AsyncGenerator<Finding>;

/** `heddle doctor`: what works, what does not, and what to do about it, layer by layer. */
export function addDoctor(program: Command): void {
  const doctor = program
    .command('doctor')
    .description('check configuration, credentials, reachability and each operation, and say what to do')
    .option('--json', 'print the findings as JSON');
  addSettingFlags(doctor, [...serviceFlags, 'oauthIssuer']).action(async ({ json }: { json?: true }) => {
    const { checksOf } = await import('./checks.ts');
    const findings: Finding[] = [];
    for await (const finding of checksOf(() => settingsOf(doctor))) {
      const clean = JSON.parse(redactor.redact(JSON.stringify(finding))) as Finding;
      findings.push(clean);
      if (!json) process.stdout.write(render(clean));
    }
    const failed = findings.filter(({ state }) => state === 'failure').length;
    if (json) process.stdout.write(`${JSON.stringify({ ok: failed === 0, findings }, null, 2)}\n`);
    else process.stdout.write(failed === 0 ? 'Nothing failed.\n' : `${failed} failed.\n`);
    process.exitCode = failed === 0 ? 0 : 1;
  });
}

/** On a terminal only, and not with NO_COLOR: styleText sees to both. */
const colours = { ok: 'green', warning: 'yellow', failure: 'red' } as const;

function render({ check, state, says, advice }: Finding): string {
  const head = `${styleText(colours[state], state.padEnd(7))}  ${check}: ${says}\n`;
  return advice === undefined ? head : `${head}         ${advice}\n`;
}
