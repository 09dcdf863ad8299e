import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { temporaryFile } from '../../support/embedded-service.ts';
import { startServiceProcess } from '../../support/service-process.ts';

it('a hundred idle connections to a service with 80 descriptors keep nobody out', async () => {
  const node = temporaryFile('node.sh');
  writeFileSync(node, `#!/bin/sh\nulimit -n 80\nexec ${process.execPath} "$@"\n`, { mode: 0o700 });
  const { url } = await startServiceProcess({}, [], node);
  const idle: Socket[] = [];
  onTestFinished(() => {
    for (const socket of idle) socket.destroy();
  });
  for (let number = 0; number < 100; number += 1) {
    const socket = connect(Number(new URL(url).port), '127.0.0.1').on('error', () => {});
    idle.push(socket);
    await once(socket, 'connect');
  }
  expect(await (await fetch(`${url}/health`)).json()).toMatchObject({ status: 'ok' });
});
