import { settings } from '../settings.js';
import type { Suite } from './suite.js';

const isQueue = (title: string) => title.startsWith('leaky');

export function refund(suite: Suite): void {
  describe.each(settings)('Refund, $title', ({ title, policy }) => {
    it('gives back the whole cost, and the key is as new if that was all', async () => {
      const { limiter } = suite.open(policy(5, 1000), 250);
      const fresh = await limiter.peek('key');
      const decision = await limiter.consume('key', { cost: 4 });
      expect(await limiter.refund(decision)).toBeUndefined();
      expect(await limiter.peek('key')).toEqual(fresh);
    });

    it('gives back at most the cost in all, in however many parts', async () => {
      const { limiter } = suite.open(policy(5, 1000), 250);
      await limiter.consume('key', { cost: 2 });
      const decision = await limiter.consume('key', { cost: 3 });
      const left: number[] = [];
      for (const units of [1, 0, 1, 5, 5, undefined]) {
        await limiter.refund(decision, units);
        left.push((await limiter.peek('key')).remaining);
      }
      expect(left).toEqual([1, 1, 2, 3, 3, 3]);
    });

    it('gives nothing back for a denied request or a peek', async () => {
      const { limiter } = suite.open(policy(3, 1000), 250);
      await limiter.consume('key', { cost: 2 });
      const denied = await limiter.consume('key', { cost: 2 });
      expect(denied.allowed).toBe(false);
      await limiter.refund(denied);
      await limiter.refund(await limiter.peek('key'));
      expect(await limiter.peek('key')).toMatchObject({ remaining: 1 });
    });

    it('gives an earlier request back too, but not a place that others queue behind', async () => {
      const { limiter } = suite.open(policy(5, 1000), 250);
      const first = await limiter.consume('key', { cost: 2 });
      await limiter.consume('key');
      await limiter.refund(first);
      expect(await limiter.peek('key')).toMatchObject({ remaining: isQueue(title) ? 2 : 4 });
    });

    it('takes nothing from what later requests used, but makes the debt of a bucket smaller', async () => {
      const { limiter, clock } = suite.open(policy(5, 1000), 250);
      const first = await limiter.consume('key', { cost: 3 });
      clock.advance((await limiter.peek('key')).resetMs);
      await limiter.consume('key', { cost: 4 });
      await limiter.refund(first);
      const owed = /^(token-bucket|gcra)/.test(title) ? 1 : 4;
      expect(await limiter.peek('key')).toMatchObject({ remaining: 5 - owed });
    });

    it('after a reset leaves no more than there is room for', async () => {
      const { limiter } = suite.open(policy(5, 1000), 250);
      const first = await limiter.consume('key', { cost: 4 });
      await limiter.reset('key');
      await limiter.consume('key');
      await limiter.refund(first);
      expect([4, 5]).toContain((await limiter.peek('key')).remaining);
      expect(await limiter.consume('key', { cost: 6 })).toMatchObject({ allowed: false });
    });

    it('creates no key, neither after a reset nor long after', async () => {
      const { limiter, clock } = suite.open(policy(3, 1000), 250);
      const first = await limiter.consume('key', { cost: 3 });
      await limiter.reset('key');
      await limiter.refund(first);
      expect(await limiter.peek('key', { cost: 3 })).toMatchObject({
        allowed: true,
        remaining: 3,
        resetMs: 0,
      });
      const second = await limiter.consume('key', { cost: 3 });
      clock.advance(1_000_000);
      await limiter.refund(second);
      expect(await limiter.peek('key', { cost: 3 })).toMatchObject({
        allowed: true,
        remaining: 3,
        resetMs: 0,
      });
      expect(await limiter.consume('key', { cost: 4 })).toMatchObject({ allowed: false });
    });
  });
}
