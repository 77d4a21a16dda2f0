import { createLimiter, type Decision } from '@sluice/core';
import { algorithms } from '../settings.js';
import type { Suite } from './suite.js';

const MINUTE = 60_000;
const HOUR = 3_600_000;

/** From 80 of so many per window used to another policy, and what is left. */
const CHANGES: [title: string, from: [number, number], to: [number, number], left: number][] = [
  ['100 a minute to 50 a minute', [100, MINUTE], [50, MINUTE], 0],
  ['100 a minute to 200 a minute', [100, MINUTE], [200, MINUTE], 120],
  ['100 a minute to 100 an hour', [100, MINUTE], [100, HOUR], 20],
  ['100 an hour to 100 a minute', [100, HOUR], [100, MINUTE], 20],
];

/** New numbers on keys that are in use: what was used stays used, at most the new capacity. */
export function liveChange(suite: Suite): void {
  describe.each(algorithms)('A policy that changes, $title', ({ title, policy }) => {
    /** What a request of the new limiter is told after 80 were used under the old one. */
    const change = async (from: [number, number], to: [number, number], cost = 1): Promise<Decision> => {
      const options = { name: suite.newName(), store: suite.makeStore(), clock: { now: () => 1000 * HOUR } };
      const before = createLimiter({ ...options, policies: [policy(...from)] });
      await before.consume('key', { cost: 80 });
      before.close();
      const after = createLimiter({ ...options, policies: [policy(...to)] });
      const decision = await after.peek('key', { cost });
      after.close();
      return decision;
    };

    it.each(CHANGES)('leaves used what was used, from %s', async (_, from, to, left) => {
      expect(await change(from, to)).toMatchObject({ limit: to[0], remaining: left, allowed: left > 0 });
      expect(await change(from, to, left + 1)).toMatchObject({ allowed: false });
    });

    if (title === 'token-bucket' || title === 'gcra') {
      it('brings the next token when one is due at the new rate', async () => {
        expect(await change([100, MINUTE], [50, MINUTE])).toMatchObject({ retryAfterMs: 1200 });
      });
    }
  });
}
