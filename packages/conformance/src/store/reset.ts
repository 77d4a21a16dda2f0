import { settings } from '../settings.js';
import type { Suite } from './suite.js';

export function reset(suite: Suite): void {
  describe.each(settings)('Reset, $title', ({ policy }) => {
    it('makes the key as new, and no other', async () => {
      const { limiter, times } = suite.open(policy(2, 1000), 250);
      const fresh = await limiter.peek('key');
      await times(3, 'key');
      await times(3, 'other');
      expect(await limiter.reset('key')).toBeUndefined();
      expect(await limiter.peek('key')).toEqual(fresh);
      expect(await limiter.peek('other')).toMatchObject({ allowed: false, remaining: 0 });
      expect(await limiter.consume('key', { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 });
    });
  });

  describe('Reset', () => {
    it('of a key that nobody used does nothing', async () => {
      const { limiter } = suite.open({ limit: 2, window: 1000 });
      await limiter.reset('key');
      await limiter.reset('key');
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, remaining: 1 });
    });

    it('reaches all policies', async () => {
      const { limiter } = suite.open(
        settings.map(({ title, policy }) => ({ ...policy(2, 1000), name: title })),
      );
      const fresh = await limiter.peek('key');
      await limiter.consume('key', { cost: 2 });
      expect((await limiter.peek('key')).policies.map((policy) => policy.remaining)).toEqual(
        settings.map(() => 0),
      );
      await limiter.reset('key');
      expect(await limiter.peek('key')).toEqual(fresh);
    });
  });
}
