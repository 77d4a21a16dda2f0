import { createLimiter, type Limiter, type ManualClock, manualClock } from '@sluice/core';
import { algorithms } from '../settings.js';
import type { Suite } from './suite.js';

export const MINUTE = 60_000;
export const HOUR = 3_600_000;

export type Numbers = [limit: number, window: number];

/** From 80 of so many per window used to other numbers, and what is left. */
export const CHANGES: [title: string, from: Numbers, to: Numbers, left: number][] = [
  ['100 a minute to 50 a minute', [100, MINUTE], [50, MINUTE], 0],
  ['100 a minute to 200 a minute', [100, MINUTE], [200, MINUTE], 120],
  ['100 a minute to 100 an hour', [100, MINUTE], [100, HOUR], 20],
  ['100 an hour to 100 a minute', [100, HOUR], [100, MINUTE], 20],
];

/** New numbers on keys that are in use: what was used stays used, at most the new capacity. */
export function liveChange(suite: Suite): void {
  describe.each(algorithms)('A policy that changes, $title', ({ title, policy }) => {
    /** A limiter with the new numbers, some ms after 80 units were used under the old ones. */
    const change = async (from: Numbers, to: Numbers, later = 0): Promise<[Limiter, ManualClock]> => {
      const clock = manualClock(1000 * HOUR);
      const options = {
        onStoreError: 'throw' as const,
        name: suite.newName(),
        store: suite.makeStore(),
        clock,
      };
      const before = createLimiter({ ...options, policies: [policy(...from)] });
      await before.consume('key', { cost: 80 });
      before.close();
      clock.advance(later);
      return [createLimiter({ ...options, policies: [policy(...to)] }), clock];
    };

    it.each(CHANGES)('leaves used what was used, from %s', async (_, from, to, left) => {
      const [limiter] = await change(from, to);
      expect(await limiter.peek('key')).toMatchObject({ limit: to[0], remaining: left, allowed: left > 0 });
      expect(await limiter.peek('key', { cost: left + 1 })).toMatchObject({ allowed: false });
      if (left > 0) expect(await limiter.consume('key', { cost: left })).toMatchObject({ remaining: 0 });
    });

    it.each(CHANGES)(
      'admits a denied request exactly when it was told, from %s',
      async (_, from, to, left) => {
        const [limiter, clock] = await change(from, to);
        const denied = await limiter.consume('key', { cost: left + 1 });
        expect(denied).toMatchObject({ allowed: false, remaining: left });
        clock.advance(denied.retryAfterMs - 1);
        expect(await limiter.consume('key', { cost: left + 1 })).toMatchObject({
          allowed: false,
          retryAfterMs: 1,
        });
        clock.advance(1);
        expect(await limiter.consume('key', { cost: left + 1 })).toMatchObject({ allowed: true });
      },
    );

    // A limit for one request is what it is judged by, and never state.
    it.each([
      [5, 1],
      [1000, 921],
    ])('keeps what was used when a limit of %i denies the first request', async (limit, cost) => {
      const [limiter] = await change([100, HOUR], [100, MINUTE]);
      expect(await limiter.consume('key', { limit, cost })).toMatchObject({ allowed: false });
      expect(await limiter.peek('key')).toMatchObject({ remaining: 20 });
    });

    if (title === 'token-bucket' || title === 'gcra') {
      it('brings the next token when one is due at the new rate', async () => {
        const [limiter] = await change([100, MINUTE], [50, MINUTE]);
        expect(await limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 1200 });
      });

      it('takes over no more than the new capacity, to the fraction of a token', async () => {
        // In 300 ms half a token has come back: 79.5 are missing, and count as 79. One comes back in 759.5 ms.
        const [limiter] = await change([100, MINUTE], [79, MINUTE], 300);
        expect(await limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 760 });
      });
    }
  });
}
