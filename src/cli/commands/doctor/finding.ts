/** One line of the doctor's report. */
export interface Finding {
  check: string;
  state: 'ok' | 'warning' | 'failure';
  message: string;
  /** The step that solves the problem, if there is one. */
  advice?: string;
}

export const ok = findingWith('ok');
export const warning = findingWith('warning');
export const failure = findingWith('failure');

function findingWith(state: Finding['state']) {
  return (check: string, message: string, advice?: string): Finding => ({ check, state, message, advice });
}
