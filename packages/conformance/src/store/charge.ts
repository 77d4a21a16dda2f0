import { createLimiter, manualClock, type Plan, type Policy, type Store, type Table } from '@sluice/core';
import { settings } from '../settings.js';
import type { Suite } from './suite.js';

/** A limiter, and what charges its part of the store after an outage. */
function open(suite: Suite, policies: readonly Policy[], at = 250) {
  const clock = manualClock(at);
  const store = suite.makeStore();
  let table: Table | undefined;
  let plan: Plan | undefined;
  const tapped: Store = {
    async: store.async,
    open: (...args) => {
      table = store.open(...args);
      const { decide } = table;
      const inner = table;
      return Object.assign(Object.create(inner), {
        decide: (...request: Parameters<Table['decide']>) => {
          plan = request[2];
          return decide.apply(inner, request);
        },
        correct: (...request: Parameters<Table['correct']>) => inner.correct(...request),
        reset: (id: string) => inner.reset(id),
        close: () => inner.close(),
      });
    },
  };
  const limiter = createLimiter({
    ...{ name: suite.newName(), policies, store: tapped, clock },
    onStoreError: 'throw',
  });
  /** Charges, and returns what each policy says remains. */
  const charge = async (...units: number[]) => {
    await limiter.peek('key');
    const answer = await (table as Table).charge('key', units, plan as Plan, clock.now());
    return units.map((_, i) => answer[5 * i]);
  };
  return { limiter, clock, charge };
}

export function charge(suite: Suite): void {
  describe.each(settings)('A charge, $title', ({ policy }) => {
    it('takes its units, and counts as a request at that instant would', async () => {
      const { limiter, charge } = open(suite, [policy(5, 1000)]);
      const other = open(suite, [policy(5, 1000)]);
      await other.limiter.consume('key', { cost: 3 });
      expect(await charge(3)).toEqual([2]);
      expect(await limiter.peek('key')).toEqual(await other.limiter.peek('key'));
    });

    it('takes no more than there is, and denies nothing', async () => {
      const { limiter, charge } = open(suite, [policy(5, 1000)]);
      await limiter.consume('key', { cost: 3 });
      expect(await charge(4)).toEqual([0]);
      expect(await charge(4)).toEqual([0]);
      const other = open(suite, [policy(5, 1000)]);
      await other.limiter.consume('key', { cost: 3 });
      await other.limiter.consume('key', { cost: 2 });
      expect(await limiter.peek('key')).toEqual(await other.limiter.peek('key'));
    });

    it('of nothing changes nothing', async () => {
      const { limiter, charge } = open(suite, [policy(5, 1000)]);
      const fresh = await limiter.peek('key');
      expect(await charge(0)).toEqual([5]);
      expect(await limiter.peek('key')).toEqual(fresh);
    });

    it('is of each policy by itself', async () => {
      const gate: Policy = { name: 'gate', algorithm: 'sliding-window-log', limit: 2, window: 60_000 };
      const { limiter, charge } = open(suite, [policy(5, 1000), gate]);
      expect(await charge(3, 7)).toEqual([2, 0]);
      const { policies } = await limiter.peek('key');
      expect(policies.map(({ remaining }) => remaining)).toEqual([2, 0]);
      expect(await charge(1, 0)).toEqual([1, 0]);
    });
  });

  describe('A charge', () => {
    it('under a limit of 0 is none', async () => {
      const { limiter, charge } = open(suite, [{ limit: 0, window: 1000 }]);
      expect(await charge(3)).toEqual([0]);
      expect(await limiter.peek('key')).toMatchObject({ resetMs: 0 });
    });

    it('counts once where denied requests count', async () => {
      const { charge } = open(suite, [
        { algorithm: 'fixed-window', limit: 5, window: 1000, countDenied: true },
      ]);
      expect(await charge(3)).toEqual([2]);
      expect(await charge(9)).toEqual([0]);
    });
  });
}
