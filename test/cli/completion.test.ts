import { describe, expect, it } from 'vitest';
import { emptyHome, run, temporaryFolder } from '../support/heddle.ts';

describe('heddle completion', () => {
  const complete = async (line: string): Promise<string[]> => {
    const { stdout } = await run(['complete', '--line', line], emptyHome(temporaryFolder()));
    return stdout.split('\n').filter((each) => each !== '');
  };

  it('completes commands, subcommands, options, clients and tools from the parser', async () => {
    expect(await complete('heddle se')).toEqual(['setup', 'serve', 'service']);
    expect(await complete('heddle service b')).toEqual(['backup']);
    expect(await complete('heddle queue export --fo')).toEqual(['--format']);
    expect(await complete('heddle queue export --format ')).toEqual(['jsonl', 'csv']);
    expect(await complete('heddle queue export q --format=c')).toEqual(['--format=csv']);
    expect(await complete('heddle setup cl')).toEqual(['claude-desktop', 'claude-code', 'cline']);
    expect(await complete('heddle call query_q')).toEqual(['query_queue_items']);
    expect(await complete('heddle completion ')).toEqual(['bash', 'zsh', 'fish']);
    expect(await complete('heddle access')).toEqual([]);
  });
});
