import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { root } from '../../support/markdown-blocks.ts';
import { installedPath } from '../../support/outside-programs.ts';
import { followPage } from '../../support/recorded-page.ts';

const names = [
  '@opentelemetry/sdk-trace-node',
  '@opentelemetry/exporter-trace-otlp-http',
  '@arizeai/openinference-instrumentation-openai',
];
const paths = names.map((name) => [name, installedPath('opentelemetry', name)] as const);

describe.skipIf(paths.some(([, path]) => !path))('recording with OpenTelemetry', () => {
  it('works as docs/opentelemetry.md shows', async () => {
    const commands = await followPage('docs/opentelemetry.md', {
      kind: 'otel',
      npmInstall:
        'install openai@6 @opentelemetry/sdk-trace-node@2 @opentelemetry/exporter-trace-otlp-http@0.223 @arizeai/openinference-instrumentation-openai@4',
      packages: { ...(Object.fromEntries(paths) as Record<string, string>), openai: join(root, 'node_modules/openai') },
    });
    expect(commands).toBe(7);
  });
});
