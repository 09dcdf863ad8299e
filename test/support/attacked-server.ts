import { afterAll, beforeAll, expect } from 'vitest';
import { type FakeService, startFakeService } from './fake-service.ts';
import { temporaryFolder } from './heddle.ts';
import { LineProcess } from './line-client.ts';
import { tally } from './tally.ts';

/** A stdio server process that a file of tests attacks, and the service that it uses. */
export interface AttackedServer {
  service: FakeService;
  server: LineProcess;
  /** Checks that the server still answers. */
  isWell: () => Promise<void>;
}

/** Starts the server for a file. At its end, the server must have survived, and have written no error and no secret. */
export async function startAttackedServer(): Promise<AttackedServer> {
  const service = await startFakeService();
  const settings = {
    HEDDLE_BASE_URL: service.url,
    HEDDLE_PROJECT: 'a/b',
    HEDDLE_USERNAME: 'u',
    HEDDLE_PASSWORD: 'password-of-user',
    HEDDLE_TOKEN: 'token-of-user',
  };
  const server = new LineProcess(temporaryFolder(), settings);
  beforeAll(() => server.initialize());
  afterAll(async () => {
    if (server.child.exitCode !== null) tally('crashed', 1);
    expect(server.noise).toEqual([]);
    expect(server.stderr).not.toMatch(/"level":"error"|password-of-user/);
    expect(await server.end()).toBe(0);
    await service.stop();
  });
  let checks = 0;
  const isWell = async (): Promise<void> => {
    checks += 1;
    expect((await server.ask({ id: `check ${checks}`, method: 'tools/list' })).result).toHaveProperty('tools');
  };
  return { service, server, isWell };
}
