import { expect, vi } from 'vitest';
import { classMembers } from '../../src/contract/objects.ts';
import { type Answer, basic, type TestService } from './embedded-service.ts';

/** The project of the tests of runs. */
export const project_id = 'acme/support';

type Members = Record<string, unknown>;

/** Sends requests to a service and expects them to succeed. */
export class EvaluationSetup {
  readonly #url: string;

  constructor(service: TestService | { url: string }) {
    this.#url = 'running' in service ? service.running.url : service.url;
  }

  async send(path: string, body?: object, method = 'POST'): Promise<{ status: number; body: Answer['body'] }> {
    const response = await fetch(this.#url + path, {
      method,
      headers: { authorization: basic, 'content-type': 'application/json' },
      ...(method === 'POST' && { body: JSON.stringify({ project_id, ...body }) }),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json');
    return { status: response.status, body: isJson ? JSON.parse(text) : text };
  }

  async post(path: string, body?: object): Promise<Answer['body']> {
    const answer = await this.send(path, body);
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBe(200);
    return answer.body;
  }

  /** Stores an object and returns the reference to it. */
  async object(object_id: string, base: string, leaf: string, val: Members): Promise<string> {
    const obj = { project_id, object_id, val: { ...val, ...classMembers(base, leaf) } };
    const { digest } = await this.post('/obj/create', { obj });
    return `weave:///${project_id}/object/${object_id}:${digest}`;
  }

  async dataset(rows: Members[], name = 'questions'): Promise<string> {
    const { digest } = await this.post('/table/create', { table: { project_id, rows } });
    return this.object(name, 'Dataset', 'Dataset', { rows: `weave:///${project_id}/table/${digest}` });
  }

  model(template: string, params: Members = {}, name = 'helper'): Promise<string> {
    return this.object(name, 'LLMStructuredCompletionModel', 'LLMStructuredCompletionModel', {
      llm_model_id: 'small',
      default_params: { messages_template: [{ role: 'user', content: template }], ...params },
    });
  }

  /** Stores a scorer that compares. */
  scorer(name: string, members: Members): Promise<string> {
    return this.object(name, 'Scorer', 'HeddleScorer', { name, ...members });
  }

  /** Stores a scorer that asks a model. */
  judge(name: string, members: Members): Promise<string> {
    const model = { llm_model_id: 'judge', default_params: { messages_template: [], response_format: 'json_object' } };
    return this.object(name, 'Scorer', 'LLMAsAJudgeScorer', { name, model, ...members });
  }

  /** Stores an evaluation and returns the reference to it. */
  async evaluation(dataset: string, scorers: string[], more: Members = {}): Promise<string> {
    const body = { name: 'quality', dataset, scorers, ...more };
    return (await this.post(`/v2/${project_id}/evaluations`, body)).evaluation_ref;
  }

  /** Starts a run and returns its id. */
  async start(evaluation_ref: string, model_ref: string, more: Members = {}): Promise<string> {
    return (await this.post('/evaluations/evaluate_model', { evaluation_ref, model_ref, ...more })).call_id;
  }

  async status(call_id: string): Promise<Answer['body']> {
    return (await this.post('/evaluations/status', { call_id })).status;
  }

  /** Waits until a run has ended, and returns its last status. */
  async ended(call_id: string, timeout = 20_000): Promise<Answer['body']> {
    return vi.waitFor(
      async () => {
        const status = await this.status(call_id);
        expect(status.code).not.toBe('running');
        return status;
      },
      { timeout, interval: 50 },
    );
  }

  results(evaluation_run_ids: string[], more: Members = {}): Promise<Answer['body']> {
    const shown = { include_summary: true, include_raw_data_rows: true, resolve_row_refs: true };
    return this.post(`/v2/${project_id}/eval_results/query`, { evaluation_run_ids, ...shown, ...more });
  }

  /** Returns the trials of a run, by the value of a column of their row. */
  async trials(run: string, column = 'question'): Promise<Record<string, Answer['body']>> {
    const { rows } = await this.results([run]);
    const entries = rows.flatMap((row: Answer['body']) =>
      row.evaluations[0].trials.map((trial: Answer['body']) => [row.raw_data_row[column], trial]),
    );
    return Object.fromEntries(entries);
  }
}
