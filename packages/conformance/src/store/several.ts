import type { Policy } from '@sluice/core';
import { settings } from '../settings.js';
import type { Suite } from './suite.js';

const named = (name: string, limit: number, window = 1000): Policy => ({
  name,
  algorithm: 'fixed-window',
  limit,
  window,
});

export function several(suite: Suite): void {
  describe.each(settings)('Several policies, with $title', ({ policy }) => {
    it('charge all or none', async () => {
      const gate: Policy = { name: 'gate', algorithm: 'sliding-window-log', limit: 2, window: 60_000 };
      const { limiter, times } = suite.open([policy(5, 1000), gate], 250);
      await times(2);
      for (let i = 0; i < 3; i++) {
        const { policies, ...denied } = await limiter.consume('key');
        expect(denied).toMatchObject({ allowed: false, policy: 'gate', delayMs: 0 });
        expect(policies[0]).toMatchObject({ allowed: true, remaining: 3, retryAfterMs: 0 });
        expect(policies[1]).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 60_000 });
      }
    });
  });

  describe('Several policies', () => {
    it('speak through the one with the fewest remaining while all admit, the first if equal', async () => {
      const { times } = suite.open([named('a', 9), named('b', 4), named('c', 4)]);
      expect(await times(1)).toMatchObject([{ policy: 'b', limit: 4, remaining: 3 }]);
    });

    it('speak through the one with the longest wait when one denies, the first if equal', async () => {
      const { times } = suite.open([named('a', 1), named('b', 1, 5000), named('c', 1, 5000)], 100);
      const [, denied] = await times(2);
      expect(denied).toMatchObject({ policy: 'b', retryAfterMs: 4900, resetMs: 4900, remaining: 0 });
    });

    it('speak through the one that can never serve the cost', async () => {
      const { limiter } = suite.open([named('a', 9, 60_000), named('b', 4)]);
      await limiter.consume('key');
      expect(await limiter.consume('key', { cost: 5 })).toMatchObject({
        policy: 'b',
        retryAfterMs: Infinity,
      });
    });

    it('answer one by one, in their order, with their names, limits and windows', async () => {
      const { limiter } = suite.open([named('a', 9), { limit: 4, window: '1m' }, { limit: 3, window: '1h' }]);
      const { policies } = await limiter.consume('key');
      expect(policies).toEqual([
        { name: 'a', limit: 9, windowMs: 1000, remaining: 8, retryAfterMs: 0, resetMs: 1000, allowed: true },
        {
          name: '2',
          limit: 4,
          windowMs: 60_000,
          remaining: 3,
          retryAfterMs: 0,
          resetMs: 120_000,
          allowed: true,
        },
        {
          name: '3',
          limit: 3,
          windowMs: 3_600_000,
          remaining: 2,
          retryAfterMs: 0,
          resetMs: 7_200_000,
          allowed: true,
        },
      ]);
    });

    it('that wait differently admit a request when the longest wait is over', async () => {
      const { times, clock } = suite.open(
        settings.map(({ title, policy }) => ({ ...policy(3, 600), name: title })),
      );
      const denied = (await times(4))[3];
      const waits = denied.policies.map((policy) => policy.retryAfterMs);
      expect(denied.retryAfterMs).toBe(Math.max(...waits));
      clock.advance(denied.retryAfterMs - 1);
      expect(await times(1)).toMatchObject([{ allowed: false, retryAfterMs: 1 }]);
      clock.advance(1);
      expect(await times(1)).toMatchObject([{ allowed: true }]);
    });
  });
}
