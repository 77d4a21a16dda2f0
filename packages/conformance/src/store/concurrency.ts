import { createLimiter } from '@sluice/core';
import { settings } from '../settings.js';
import { allowed, type Suite } from './suite.js';

export function concurrency(suite: Suite): void {
  describe.each(settings)('Two hundred requests at once, $title', ({ policy }) => {
    it('are admitted up to exactly the limit', async () => {
      const { limiter } = suite.open(policy(37, 1000), 250);
      const decisions = await Promise.all(Array.from({ length: 200 }, () => limiter.consume('key')));
      expect(allowed(decisions)).toBe(37);
      const left = decisions.filter((decision) => decision.allowed).map((decision) => decision.remaining);
      expect(left.sort((a, b) => a - b)).toEqual(Array.from({ length: 37 }, (_, i) => i));
    });
  });

  if (!suite.supports.shared) return;
  describe.each(settings)('Two store objects, $title', ({ policy }) => {
    it('see one state: together they admit exactly the limit', async () => {
      const name = suite.newName();
      const options = { name, policies: [policy(37, 1000)], clock: { now: () => 250 } };
      const [one, other] = [suite.makeStore(), suite.makeStore()].map((store) =>
        createLimiter({ onStoreError: 'throw', ...options, store }),
      );
      const requests = Array.from({ length: 200 }, (_, i) => (i % 2 === 0 ? one : other).consume('key'));
      expect(allowed(await Promise.all(requests))).toBe(37);
      await one.reset('key');
      expect(await other.peek('key')).toMatchObject({ remaining: 37, resetMs: 0 });
    });
  });
}
