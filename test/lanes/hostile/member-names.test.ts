import { describe, expect, it } from 'vitest';
import { toolNames } from '../../pins/tools.ts';
import { exampleFor } from '../../support/call-every-tool.ts';
import { startServer } from '../../support/client.ts';
import { sendResponse, startFakeService } from '../../support/fake-service.ts';
import { goodResponse } from '../../support/good-responses.ts';
import { emptyHome, temporaryFolder } from '../../support/heddle.ts';
import {
  inheritedByAll,
  inheritedNames,
  withMemberEverywhere,
  withTextsReplaced,
} from '../../support/inherited-names.ts';

const before = inheritedByAll();
const embedded = startServer(emptyHome(temporaryFolder(), { HEDDLE_LOG_FORMAT: 'json' }));
const { call: callEmbedded } = await embedded.connect();

describe.each(toolNames)('%s', (tool) => {
  it.each(inheritedNames)('harms nothing with members and texts that are %s', async (name) => {
    const example = exampleFor(tool);
    for (const args of [withMemberEverywhere(example, name), ...withTextsReplaced(example, name)]) {
      const { error } = await callEmbedded(tool, args as Record<string, unknown>);
      expect(error?.code).not.toBe('internal');
    }
    expect(embedded.log()).not.toContain('"level":"error"');
    expect(inheritedByAll()).toEqual(before);
    const { error } = await callEmbedded(tool, example);
    // By now there may be another queue, or another field, of the same name.
    expect(error?.code).toBe(error && ['create_queue', 'update_queue'].includes(tool) ? 'conflict' : undefined);
  });
});

const service = await startFakeService();
const remote = startServer(emptyHome(temporaryFolder(), { ...service.environment, HEDDLE_LOG_FORMAT: 'json' }));
const { call: callRemote } = await remote.connect();

describe.each(toolNames)('%s', (tool) => {
  it.each(inheritedNames)('is not harmed by members and texts of a service that are %s', async (name) => {
    /** Calls the tool while the service changes its responses, and returns the largest number of changes that one offers. */
    const callWith = async (change: (value: unknown) => unknown[], at: number): Promise<number> => {
      let most = 0;
      service.respond = (request) => {
        const { contentType, body } = goodResponse(request);
        const lines = contentType.startsWith('application/json') ? [body] : body.split('\n').filter(Boolean);
        const changed = lines.map((line) => {
          const changes = change(JSON.parse(line));
          most = Math.max(most, changes.length);
          return JSON.stringify(changes[at] ?? JSON.parse(line));
        });
        sendResponse(request, 200, changed.join('\n'), { 'content-type': contentType });
      };
      const { error } = await callRemote(tool, exampleFor(tool));
      expect(error?.code).not.toBe('internal');
      return most;
    };
    await callWith((value) => [withMemberEverywhere(value, name)], 0);
    const replace = (value: unknown): unknown[] => withTextsReplaced(value, name);
    const count = await callWith(replace, 0);
    for (let at = 1; at < count; at += 1) await callWith(replace, at);
    expect(remote.log()).not.toContain('"level":"error"');
    expect(inheritedByAll()).toEqual(before);
    service.respond = service.respondNormally;
    expect(await callRemote(tool, exampleFor(tool))).not.toHaveProperty('error');
  });
});
