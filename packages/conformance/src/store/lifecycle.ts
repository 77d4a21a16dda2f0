import { createLimiter, type Policy } from '@sluice/core';
import { settings } from '../settings.js';
import type { Suite } from './suite.js';

const policies: readonly Policy[] = [{ limit: 2, window: 1000 }];

export function lifecycle(suite: Suite): void {
  describe.each(settings)('Decisions, $title', ({ policy }) => {
    it('are fresh values: none changes when others are made', async () => {
      const { limiter, clock } = suite.open(policy(4, 1000), 250);
      const first = await limiter.consume('key');
      const copy = structuredClone({ ...first });
      clock.advance(3);
      const second = await limiter.consume('key', { cost: 2 });
      await limiter.consume('other', { cost: 4 });
      await limiter.peek('key');
      await limiter.reset('key');
      expect({ ...first }).toEqual(copy);
      expect(second).not.toBe(first);
      expect(second.policies[0]).not.toBe(first.policies[0]);
    });
  });

  describe('Limiters of one name', () => {
    it('are refused on one store, and the name is free again after close', async () => {
      const store = suite.makeStore();
      const name = suite.newName();
      const first = createLimiter({ onStoreError: 'throw', name, policies, store });
      expect(() => createLimiter({ onStoreError: 'throw', name, policies, store })).toThrow(
        expect.objectContaining({ code: 'ERR_SLUICE_NAME_TAKEN' }),
      );
      first.close();
      first.close();
      const second = createLimiter({ onStoreError: 'throw', name, policies, store });
      first.close();
      expect(() => createLimiter({ onStoreError: 'throw', name, policies, store })).toThrow(
        expect.objectContaining({ code: 'ERR_SLUICE_NAME_TAKEN' }),
      );
      second.close();
    });

    it('leave what was used to the next one', async () => {
      const store = suite.makeStore();
      const name = suite.newName();
      const clock = { now: () => 0 };
      const first = createLimiter({ onStoreError: 'throw', name, policies, store, clock });
      await first.consume('key', { cost: 2 });
      first.close();
      const second = createLimiter({ onStoreError: 'throw', name, policies, store, clock });
      expect(await second.consume('key')).toMatchObject({ allowed: false, remaining: 0 });
      second.close();
    });

    it('may live side by side under different names', async () => {
      const store = suite.makeStore();
      const [one, other] = [suite.newName(), suite.newName()].map((name) =>
        createLimiter({ onStoreError: 'throw', name, policies, store }),
      );
      await one.consume('key', { cost: 2 });
      expect(await other.peek('key')).toMatchObject({ remaining: 2 });
    });

    it('answer nothing once they are closed', async () => {
      const { limiter } = suite.open(policies);
      const decision = await limiter.consume('key');
      limiter.close();
      const calls = [
        () => limiter.consume('key'),
        () => limiter.peek('key'),
        () => limiter.refund(decision),
        () => limiter.reset('key'),
        () => limiter.update({ policies }),
      ];
      for (const call of calls) {
        await expect((async () => call())()).rejects.toMatchObject({ code: 'ERR_SLUICE_CLOSED' });
      }
    });
  });
}
