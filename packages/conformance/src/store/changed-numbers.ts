import { createLimiter, manualClock, type Policy } from '@sluice/core';
import type { Suite } from './suite.js';

const HOUR = 3_600_000;
const MINUTE = 60_000;

export function changedNumbers(suite: Suite): void {
  /** A key that used `used` of `before` at the hour's first minute, and the same key under `after`. */
  async function change(before: Policy, used: number, after: Policy) {
    const store = suite.makeStore();
    const name = suite.newName();
    const clock = manualClock(1_000 * HOUR + MINUTE);
    const first = createLimiter({ onStoreError: 'throw', name, policies: [before], store, clock });
    await first.consume('key', { cost: used });
    first.close();
    return {
      clock,
      limiter: createLimiter({ onStoreError: 'throw', name, policies: [after], store, clock }),
    };
  }

  describe('A key whose window became shorter', () => {
    // The hour's hundred count in the minute in which they are first seen, and are gone when that has passed: at its
    // end for the fixed window; for the counter when 100 * (60,000 - e) / 60,000 <= 99, 600 ms into the next.
    it.each([
      ['fixed-window', 60_000],
      ['sliding-window-counter', 60_600],
    ] as const)('waits as long as it is told, and then is admitted: %s', async (algorithm, wait) => {
      const { clock, limiter } = await change({ algorithm, limit: 100, window: '1h' }, 100, {
        algorithm,
        limit: 100,
        window: '1m',
      });
      const denied = await limiter.consume('key');
      expect(denied).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: wait });
      clock.advance(wait - 1);
      expect(await limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 1 });
      clock.advance(1);
      expect(await limiter.consume('key')).toMatchObject({ allowed: true });
    });
  });

  describe.each(['token-bucket', 'gcra', 'leaky-bucket'] as const)(
    'A limit for one request of a %s',
    (algorithm) => {
      it('is compared with what all have used, and its wait is exact', async () => {
        const { limiter, clock } = suite.open({ algorithm, limit: 100, window: '1m' });
        await limiter.consume('key', { cost: 80 });
        // 31 tokens too many for a capacity of 50, and 600 ms for each to come back.
        const denied = await limiter.consume('key', { limit: 50 });
        expect(denied).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 18_600, limit: 50 });
        expect(await limiter.peek('key')).toMatchObject({ remaining: 20 });
        clock.advance(18_599);
        expect(await limiter.consume('key', { limit: 50 })).toMatchObject({
          allowed: false,
          retryAfterMs: 1,
        });
        clock.advance(1);
        expect(await limiter.consume('key', { limit: 50 })).toMatchObject({ allowed: true, remaining: 0 });
      });

      it('does not change what a refund gives back', async () => {
        const { limiter } = suite.open({ algorithm, limit: 100, window: '1m' });
        const first = await limiter.consume('key', { cost: 80 });
        await limiter.consume('key', { cost: 100, limit: 200 });
        await limiter.refund(first, 1);
        // A queue takes nothing back from one that others stand behind.
        const remaining = algorithm === 'leaky-bucket' ? 20 : 21;
        expect(await limiter.peek('key', { limit: 200 })).toMatchObject({ remaining });
      });
    },
  );

  describe('countDenied beside another policy', () => {
    it('tells the wait after the denied request was counted', async () => {
      const { limiter, clock } = suite.open([
        { name: 'minute', algorithm: 'fixed-window', limit: 2, window: '1m', countDenied: true },
        { name: 'second', algorithm: 'fixed-window', limit: 1, window: '1s' },
      ]);
      await limiter.consume('key');
      const denied = await limiter.consume('key');
      expect(denied).toMatchObject({ allowed: false, policy: 'minute', retryAfterMs: 60_000 });
      clock.set(59_999);
      expect(await limiter.peek('key')).toMatchObject({ allowed: false, retryAfterMs: 1 });
      clock.set(60_000);
      expect(await limiter.consume('key')).toMatchObject({ allowed: true });
    });
  });

  describe('A sliding-window log of the largest limits', () => {
    it('counts exactly at 2^53 - 1', async () => {
      const limit = Number.MAX_SAFE_INTEGER;
      const { limiter, clock } = suite.open({ algorithm: 'sliding-window-log', limit, window: 1000 });
      await limiter.consume('key', { cost: 4 });
      clock.set(999);
      await limiter.consume('key');
      clock.set(1000);
      // The four are gone, the one goes at 1999.
      expect(await limiter.consume('key', { cost: limit })).toMatchObject({
        allowed: false,
        remaining: limit - 1,
        retryAfterMs: 999,
      });
    });
  });
}
