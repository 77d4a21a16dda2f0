import type { Policy } from '@sluice/core';
import type { Suite } from './suite.js';

const fixed = (limit: number): Policy => ({
  algorithm: 'fixed-window',
  limit,
  window: 1000,
  countDenied: true,
});
const counter = (limit: number): Policy => ({ limit, window: 1000, countDenied: true });

export function countDenied(suite: Suite): void {
  describe.each([
    ['fixed-window', fixed],
    ['sliding-window-counter', counter],
  ] as const)('Counting denied requests, %s', (_, policy) => {
    it('locks the window for a cost above what is left', async () => {
      const { limiter } = suite.open(policy(5));
      await limiter.consume('key', { cost: 3 });
      expect(await limiter.consume('key', { cost: 3 })).toMatchObject({ allowed: false, remaining: 0 });
      expect(await limiter.consume('key')).toMatchObject({ allowed: false, remaining: 0 });
    });

    it('never counts a cost above the capacity', async () => {
      const { limiter } = suite.open(policy(5));
      for (let i = 0; i < 3; i++) {
        expect(await limiter.consume('key', { cost: 6 })).toMatchObject({
          allowed: false,
          remaining: 5,
          retryAfterMs: Infinity,
          resetMs: 0,
        });
      }
    });

    it('does not count a peek', async () => {
      const { limiter } = suite.open(policy(5));
      await limiter.consume('key', { cost: 3 });
      for (let i = 0; i < 3; i++) {
        expect(await limiter.peek('key', { cost: 3 })).toMatchObject({ allowed: false, remaining: 2 });
      }
      expect(await limiter.consume('key', { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 });
    });

    it('counts what another policy denied, and the other policy does not', async () => {
      const other: Policy = { name: 'other', algorithm: 'sliding-window-log', limit: 1, window: 1000 };
      const { limiter, times } = suite.open([policy(5), other]);
      const decisions = await times(4);
      expect(decisions.map((decision) => decision.policies[0].remaining)).toEqual([4, 3, 2, 1]);
      expect(decisions.map((decision) => decision.policies[1].remaining)).toEqual([0, 0, 0, 0]);
      await limiter.refund(decisions[1]);
      expect((await limiter.peek('key')).policies.map((each) => each.remaining)).toEqual([1, 0]);
    });
  });

  describe('Counting denied requests', () => {
    it('makes a flood wait longer in a sliding window, where it stays after the window in which it came', async () => {
      const quiet = suite.open({ limit: 10, window: 1000 });
      const loud = suite.open({ limit: 10, window: 1000, countDenied: true });
      await quiet.times(100);
      await loud.times(100);
      // 10 (1000 - e) <= 9000 from e = 100; 101 (1000 - e) <= 9000 from e = 1000 - 89 = 911, its own peek counted.
      expect(await quiet.limiter.peek('key')).toMatchObject({ retryAfterMs: 1100 });
      expect(await loud.limiter.peek('key')).toMatchObject({ retryAfterMs: 1911 });
    });
  });
}
