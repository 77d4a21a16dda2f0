import { createLimiter, manualClock, type Policy } from '@sluice/core';
import { algorithms } from '../settings.js';
import type { Suite } from './suite.js';

/** Their states are the same, and so are the numbers in them. */
const BUCKETS = ['token-bucket', 'leaky-bucket'];

export function algorithmChange(suite: Suite): void {
  const pairs = algorithms.flatMap((before) => algorithms.map((after) => ({ before, after })));
  describe.each(pairs.filter(({ before, after }) => before !== after))(
    'A key that $before.title wrote, under $after.title',
    ({ before, after }) => {
      const same = BUCKETS.includes(before.title) && BUCKETS.includes(after.title);

      it(same ? 'keeps what was used' : 'is as new', async () => {
        const store = suite.makeStore();
        const name = suite.newName();
        const open = (policy: Policy) =>
          createLimiter({ onStoreError: 'throw', name, policies: [policy], store, clock: manualClock(250) });
        const first = open(before.policy(3, 1000));
        const charged = await first.consume('key', { cost: 2 });
        await first.refund(charged, 1);
        await first.consume('key');
        first.close();

        const second = open(after.policy(10, 1000));
        expect((await second.peek('key')).remaining).toBe(same ? 8 : 10);
        const decision = await second.consume('key', { cost: 2 });
        // Ten per second: the two units that were used are ahead of these in the queue.
        const delayMs = same && after.title === 'leaky-bucket' ? 200 : 0;
        expect(decision).toMatchObject({ allowed: true, remaining: same ? 6 : 8, delayMs });
        await second.refund(decision);
        expect((await second.peek('key')).remaining).toBe(same ? 8 : 10);
      });
    },
  );
}
