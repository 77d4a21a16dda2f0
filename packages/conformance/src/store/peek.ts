import { settings } from '../settings.js';
import type { Suite } from './suite.js';

export function peek(suite: Suite): void {
  describe.each(settings)('Peek, $title', ({ policy }) => {
    it('says of a request that fits what consume says, and what is left before it', async () => {
      const { limiter } = suite.open(policy(3, 1000), 250);
      await limiter.consume('key');
      const peeked = await limiter.peek('key', { cost: 2 });
      const consumed = await limiter.consume('key', { cost: 2 });
      expect(peeked).toMatchObject({ allowed: true, retryAfterMs: 0, remaining: 2, cost: 2 });
      expect(consumed).toMatchObject({ allowed: true, retryAfterMs: 0, remaining: 0, cost: 2 });
      expect(consumed.delayMs).toBe(peeked.delayMs);
    });

    it('says of a request that does not fit exactly what consume says', async () => {
      const { limiter, clock } = suite.open(policy(3, 1000), 250);
      await limiter.consume('key', { cost: 2 });
      clock.advance(10);
      const peeked = await limiter.peek('key', { cost: 3 });
      expect(peeked.allowed).toBe(false);
      expect(await limiter.consume('key', { cost: 3 })).toEqual(peeked);
    });

    it('changes nothing, however often it is asked', async () => {
      const { limiter } = suite.open(policy(3, 1000), 250);
      const fresh = await limiter.peek('key');
      expect(fresh).toMatchObject({ allowed: true, remaining: 3, resetMs: 0 });
      for (let i = 0; i < 5; i++) expect(await limiter.peek('key')).toEqual(fresh);
      await limiter.consume('key', { cost: 3 });
      const full = await limiter.peek('key');
      for (let i = 0; i < 5; i++) expect(await limiter.peek('key')).toEqual(full);
    });

    it('knows what can never fit', async () => {
      const { limiter } = suite.open(policy(3, 1000));
      expect(await limiter.peek('key', { cost: 4 })).toMatchObject({
        allowed: false,
        retryAfterMs: Infinity,
      });
    });
  });
}
