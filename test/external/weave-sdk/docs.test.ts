import { describe, expect, it } from 'vitest';
import { installedPath } from '../../support/outside-programs.ts';
import { followPage } from '../../support/recorded-page.ts';
import { hasWeaveSdk } from '../../support/weave-sdk.ts';

describe.skipIf(!hasWeaveSdk)('recording with npm weave', () => {
  it('works as docs/recording.md shows', async () => {
    const commands = await followPage('docs/recording.md', {
      kind: 'weave',
      npmInstall: 'install weave@0.11.1',
      packages: { weave: installedPath('weave-sdk', 'weave')! },
    });
    expect(commands).toBe(14);
  });
});
