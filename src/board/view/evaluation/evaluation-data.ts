/** Figures of a scorer in one run. */
export interface Figures {
  scorer: string;
  n: number;
  /** Predictions without a score. */
  errors?: number;
  /** Share from 0 to 1. */
  pass_rate?: number;
  mean?: number;
  /** Values with the number of times that each occurs. */
  values?: [value: boolean | number | string, count: number][];
  /** Least value, quartiles and greatest value. */
  quartiles?: number[];
}

export interface RunData {
  run_id: string;
  status: string;
  /** Predictions that are done, of how many. */
  completed?: number;
  total?: number;
  error?: string;
  evaluation?: string;
  model?: string;
  prompt?: string;
  started_at?: string;
  predictions?: number;
  errors?: number;
  tokens?: number;
  cost?: number;
  latency_seconds?: number;
  scorers?: Figures[];
}

/** Rows that a run and the baseline share, counted for one scorer. */
export interface ScorerChange {
  scorer: string;
  better: number;
  worse: number;
  same: number;
  changed?: number;
  p?: number;
  verdict: string;
}

export interface Comparison {
  baseline: string;
  run_id: string;
  shared_rows: number;
  other_rows?: number;
  scorers: ScorerChange[];
}

/** Agreement of a scorer with a column of people's judgements. */
export interface AgreementData {
  run_id: string;
  scorer: string;
  n: number;
  percent: number;
  kappa?: number;
  no_kappa?: string;
  classes: string[];
  /** A row for each class of the column, a column for each of the scorer. */
  confusion: number[][];
  other_classes?: number;
}

/** A row of the dataset. With several runs, what differs between them is a list in their order. */
export interface RowData {
  call_id: string;
  call_ids?: (string | null)[];
  inputs?: Record<string, unknown>;
  output?: unknown;
  outputs?: unknown[];
  scores: Record<string, unknown>;
  changes?: Record<string, string>;
  trials?: number;
  error?: string;
  errors?: (string | null)[];
}

/** The rows that read_evaluation can choose. */
export type ChosenRows = 'worst' | 'failed' | 'changed';

/** The result of the tool read_evaluation. */
export interface EvaluationPage {
  runs: RunData[];
  comparisons?: Comparison[];
  agreement?: AgreementData[];
  /** Absent in a list of runs. */
  rows?: RowData[];
  offset: number;
  next_offset?: number;
  total: number;
  warnings?: string[];
}

/** The outcome of a row in one run. */
export interface RowOutcome {
  callId?: string;
  output: unknown;
  scores: Record<string, unknown>;
  error?: string;
}

/** Returns what each run made of a row, in the order of the runs. */
export function outcomesOf(row: RowData): RowOutcome[] {
  const { call_id, call_ids, output, outputs, scores, error, errors } = row;
  if (!outputs) return [{ callId: call_id, output, scores, ...(error && { error }) }];
  return outputs.map((each, index) => {
    const callId = call_ids?.[index];
    const failure = errors?.[index];
    const ofRun = Object.entries(scores).map(([name, values]) => [name, (values as unknown[])[index] ?? undefined]);
    return {
      ...(callId && { callId }),
      output: each ?? undefined,
      scores: Object.fromEntries(ofRun),
      ...(failure && { error: failure }),
    };
  });
}

/** Returns the name of a run by its place. */
export function runName(index: number, count: number): string {
  if (count === 1) return 'Run';
  return index === 0 ? 'Run 1, the baseline' : `Run ${index + 1}`;
}
