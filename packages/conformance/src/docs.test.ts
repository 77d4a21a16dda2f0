import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createLimiter, manualClock } from '@sluice/core';
import { tracesOf } from './markdown.js';

const root = join(__dirname, '..', '..', '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');

describe('the pages of the algorithms', () => {
  const pages = readdirSync(join(root, 'docs', 'algorithms'));
  const traces = pages.flatMap((page) =>
    tracesOf(read(`docs/algorithms/${page}`)).map((trace) => [`${page}:${trace.line}`, trace] as const),
  );
  it.each(traces)('%s decides as the page says', (_place, { policy, steps }) => {
    const clock = manualClock();
    const limiter = createLimiter({ policies: [policy], clock });
    for (const { line, at, cost, ...said } of steps) {
      clock.set(at);
      const { allowed, remaining, retryAfterMs, resetMs, delayMs } = limiter.consume('a', { cost });
      expect({ line, allowed, remaining, retryAfterMs, resetMs, delayMs }).toEqual({ line, ...said });
    }
  });
});
