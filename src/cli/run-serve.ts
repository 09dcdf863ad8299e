import { resolveConfig } from '../config/resolve.ts';
import { guarded } from './guarded.ts';
import { serveStdio } from './serve-stdio.ts';

/** `heddle` and `heddle serve` without flags. */
export function run(): Promise<void> {
  return guarded(() => serveStdio(resolveConfig({ flags: {}, environment: process.env })));
}
