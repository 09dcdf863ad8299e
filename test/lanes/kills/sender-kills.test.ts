import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, watch, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../src/core/statistics/seeded-random.ts';
import { execute, storedIn, temporaryData, withStore } from '../../support/embedded-service.ts';
import { command, emptyHome, temporaryFolder } from '../../support/heddle.ts';
import { onEnd } from '../../support/on-end.ts';
import { otlpMessage, otlpSpan } from '../../support/otlp-messages.ts';
import { PythonLikeClient } from '../../support/python-like-client.ts';
import { RestartableService } from '../../support/restartable-service.ts';
import { tally } from '../../support/tally.ts';

const killCount = 10;
const project = 'p/q';
const callsAtOnce = 20;
/** More spans than one transaction stores. */
const spansAtOnce = 300;
const rowsOfFile = 1500;
/** Acknowledgements and changes of SQLite's log before a kill at most: the log changes some hundred times for each file. */
const maxEvents = 1500;

/** What was sent, and what of it was acknowledged, by the names under which it is found again. */
class Ledger {
  readonly sent = new Set<string>();
  readonly acknowledged = new Set<string>();

  /** Compares with the names of what is stored. */
  faults(stored: readonly string[]): { lost: string[]; doubled: string[]; unknown: string[] } {
    const names = new Set<string>();
    const doubled = stored.filter((name) => names.has(name) || !names.add(name));
    return {
      lost: [...this.acknowledged].filter((name) => !names.has(name)),
      doubled,
      unknown: [...names].filter((name) => !this.sent.has(name)),
    };
  }
}

describe('a service to which an SDK, OpenTelemetry and imports of files send', () => {
  it(`has all that it acknowledged once, and nothing twice, after ${killCount} kills`, async () => {
    const data = await temporaryData();
    const { password } = await withStore(data, (store) => store.addUser('ada', 'all'));
    const authorization = `Basic ${btoa(`ada:${password}`)}`;
    const service = await RestartableService.on(data);
    const environment = emptyHome(temporaryFolder(), storedIn(data));
    const folder = temporaryFolder();
    const random = seededRandom(33);
    const ledgers = { calls: new Ledger(), spans: new Ledger(), rows: new Ledger() };

    let kills = 0;
    let importsKilled = 0;
    let eventsUntilKill = 1 + Math.floor(random() * maxEvents);
    let importing: ReturnType<typeof spawn> | undefined;
    let isUp = true;
    let started = Promise.resolve();
    const killAndStart = async (): Promise<void> => {
      // An import is a process of its own, so that it must survive the service too.
      if (kills % 2 === 0) importing?.kill('SIGKILL');
      await service.kill();
      await service.start();
      eventsUntilKill = 1 + Math.floor(random() * maxEvents);
      isUp = true;
    };
    const noteEvent = (): void => {
      if (!isUp || kills === killCount) return;
      eventsUntilKill -= 1;
      if (eventsUntilKill > 0) return;
      isUp = false;
      kills += 1;
      started = killAndStart();
    };
    const watcher = watch(dirname(data), (_, name) => {
      if (name?.endsWith('-wal')) noteEvent();
    });
    onEnd(() => watcher.close());

    /** Sends pieces until the last kill and one after it. Every third is not sent again if it was not acknowledged. */
    const sendPieces = async (
      ledger: Ledger,
      namesOf: (piece: number) => string[],
      send: (names: readonly string[]) => Promise<boolean>,
    ): Promise<void> => {
      for (let piece = 0, isLast = false; !isLast; piece += 1) {
        isLast = kills === killCount;
        const names = namesOf(piece);
        for (const name of names) ledger.sent.add(name);
        let isAcknowledged = false;
        for (let attempt = 0; !isAcknowledged && (attempt === 0 || piece % 3 !== 0 || isLast); attempt += 1) {
          await started;
          isAcknowledged = await send(names);
        }
        if (!isAcknowledged) continue;
        for (const name of names) ledger.acknowledged.add(name);
        noteEvent();
      }
    };
    const numbered = (prefix: string, count: number) => (piece: number) =>
      Array.from({ length: count }, (_, index) => `${prefix}${piece * count + index}`);

    const sdk = new PythonLikeClient(service.url, authorization, project, (batch) => batch % 5 === 0);
    const sendCalls = async (ids: readonly string[]): Promise<boolean> => {
      const call = { started_at: '2026-01-01T00:00:00.000001Z', inputs: {} };
      return isAnswered(sdk.record(ids.map((id) => ({ ...call, id, output: id }))));
    };
    const sendSpans = (ids: readonly string[]): Promise<boolean> => {
      const spans = ids.map((spanId) => otlpSpan({ spanId }));
      const body = JSON.stringify(otlpMessage(spans, { 'wandb.entity': 'p', 'wandb.project': 'q' }));
      const headers = { authorization, 'content-type': 'application/json' };
      return isAnswered(
        fetch(`${service.url}/otel/v1/traces`, { method: 'POST', headers, body }).then(async (response) => {
          expect([response.status, await response.json()]).toEqual([200, { partial_success: null }]);
        }),
      );
    };
    const importRows = async (questions: readonly string[]): Promise<boolean> => {
      const file = join(folder, `${questions[0]}.csv`);
      const lines = questions.map((question) => `${question},Because.,true,ada`);
      if (!existsSync(file)) writeFileSync(file, ['question,answer,helpful,reviewer', ...lines].join('\n'));
      const args = ['import', file, '--project', project, '--queue', 'Rows of files', '--field', 'helpful:boolean'];
      importing = spawn(process.execPath, [command, ...args], {
        env: environment,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let stderr = '';
      importing.stderr!.on('data', (bytes) => {
        stderr += bytes;
      });
      const [code, signal] = await once(importing, 'close');
      importing = undefined;
      if (signal === 'SIGKILL') importsKilled += 1;
      else expect(code, stderr).toBe(0);
      return signal === null;
    };

    await Promise.all([
      sendPieces(ledgers.calls, numbered('call-', callsAtOnce), sendCalls),
      sendPieces(ledgers.spans, (piece) => numbered('', spansAtOnce)(piece).map(spanIdOf), sendSpans),
      sendPieces(ledgers.rows, numbered('row', rowsOfFile), importRows),
    ]);

    const calls = await execute(data, 'select id, op_name, inputs, output, ended_at from calls');
    const ofKind = (kind: string) => calls.filter(({ op_name }) => op_name === kind);
    const questionOf = new Map(calls.map(({ id, inputs }) => [id, JSON.parse(String(inputs)).question]));
    const items = await execute(data, 'select call_id from queue_items');
    const judgements = await execute(data, 'select weave_ref from feedback');
    const judged = judgements.map(({ weave_ref }) => String(weave_ref).split('/').at(-1));
    const stored = {
      calls: ledgers.calls.faults(ofKind('answer').map(({ id }) => String(id))),
      spans: ledgers.spans.faults(
        ofKind('weave:///p/q/op/chat:XNI9iHYwcffKfuDa2rGjQoIxUOw7cnWmLEiNufRD8RY').map(({ id }) => String(id)),
      ),
      rows: ledgers.rows.faults(ofKind('import').map(({ id }) => questionOf.get(id))),
      items: ledgers.rows.faults(items.map(({ call_id }) => questionOf.get(call_id))),
      judgements: ledgers.rows.faults(judged.map((id) => questionOf.get(id))),
    };
    const none = { lost: [], doubled: [], unknown: [] };
    expect(stored).toEqual({ calls: none, spans: none, rows: none, items: none, judgements: none });
    // The end of a call may arrive before its start, in another batch.
    const whole = ofKind('answer').filter(({ id, output, ended_at }) => ended_at !== null && output === `"${id}"`);
    expect(ledgers.calls.faults(whole.map(({ id }) => String(id))).lost).toEqual([]);
    // A file is stored as a whole or not at all.
    expect([items.length % rowsOfFile, judgements.length]).toEqual([0, items.length]);
    expect(await execute(data, 'select name from queues')).toEqual([{ name: 'Rows of files' }]);
    expect(await withStore(data, (store) => store.integrityCheck())).toEqual([]);
    expect([kills, importsKilled > 0]).toEqual([killCount, true]);
    const counts = Object.entries(ledgers).map(
      ([kind, { acknowledged, sent }]) => `${acknowledged.size} of ${sent.size} ${kind}`,
    );
    console.log(`acknowledged: ${counts.join(', ')}; ${importsKilled} imports killed`);
    tally('kill rounds', kills);
  }, 300_000);
});

/** Returns whether a request was answered; false if its connection ended first. */
async function isAnswered(request: Promise<unknown>): Promise<boolean> {
  try {
    await request;
    return true;
  } catch (error) {
    // The failure of fetch. One of a check is thrown on.
    if (!(error instanceof TypeError)) throw error;
    return false;
  }
}

/** Returns the id of a span by its number, which must not be zero. */
function spanIdOf(number: string): string {
  return (Number(number) + 1).toString(16).padStart(16, '0');
}
