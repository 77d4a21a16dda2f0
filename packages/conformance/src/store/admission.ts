import { settings } from '../settings.js';
import { allowed, type Suite } from './suite.js';

const LIMITS = [1, 2, 3, 4, 5];

/** How many are admitted. */
export function admission(suite: Suite): void {
  describe.each(settings)('Admission, $title', ({ policy }) => {
    it.each(LIMITS)('admits exactly %i of so many and three more at once', async (limit) => {
      const { times } = suite.open(policy(limit, 1000), 250);
      const decisions = await times(limit + 3);
      expect(decisions.map((decision) => decision.remaining)).toEqual(
        decisions.map((_, i) => Math.max(0, limit - 1 - i)),
      );
      expect(decisions.map((decision) => decision.allowed)).toEqual(decisions.map((_, i) => i < limit));
    });

    it('admits exactly the limit again once the whole capacity is back', async () => {
      const { times, clock, limiter } = suite.open(policy(4, 1000), 250);
      await times(5);
      clock.advance((await limiter.peek('key')).resetMs);
      expect(allowed(await times(7))).toBe(4);
    });

    it('admits a denied request exactly when it was told to come back', async () => {
      const { times, clock, limiter } = suite.open(policy(4, 1000), 250);
      await times(4);
      const denied = await limiter.consume('key', { cost: 2 });
      clock.advance(denied.retryAfterMs - 1);
      expect(await limiter.consume('key', { cost: 2 })).toMatchObject({ allowed: false, retryAfterMs: 1 });
      clock.advance(1);
      expect(await limiter.consume('key', { cost: 2 })).toMatchObject({ allowed: true, retryAfterMs: 0 });
    });

    it('lets a denied request take nothing, however often it comes', async () => {
      const { limiter } = suite.open(policy(4, 1000), 250);
      await limiter.consume('key', { cost: 3 });
      for (let i = 0; i < 5; i++) {
        expect(await limiter.consume('key', { cost: 2 })).toMatchObject({ allowed: false, remaining: 1 });
      }
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, remaining: 0 });
    });

    it('lets a request that costs nothing pass at any time', async () => {
      const { limiter, times } = suite.open(policy(1, 1000), 250);
      await times(2);
      const before = await limiter.peek('key');
      expect(await limiter.consume('key', { cost: 0 })).toMatchObject({ allowed: true, retryAfterMs: 0 });
      expect(await limiter.peek('key')).toEqual(before);
    });
  });
}
