import { createLimiter, type Limiter, type ManualClock, manualClock, type Policy } from '@sluice/core';
import { algorithms } from '../settings.js';
import { CHANGES, HOUR, MINUTE, type Numbers } from './live-change.js';
import type { Suite } from './suite.js';

/** New numbers for a limiter that goes on. */
export function update(suite: Suite): void {
  describe.each(algorithms)('An update, $title', ({ policy }) => {
    /** A limiter of which 80 units are used, before it is updated. */
    const used = async (numbers: Numbers): Promise<[Limiter, ManualClock]> => {
      const { limiter, clock } = suite.open(policy(...numbers), 1000 * HOUR);
      await limiter.consume('key', { cost: 80 });
      return [limiter, clock];
    };

    it.each(CHANGES)('leaves used what was used, from %s', async (_, from, to, left) => {
      const [limiter] = await used(from);
      limiter.update({ policies: [policy(...to)] });
      expect(limiter.policies).toMatchObject([{ limit: to[0], windowMs: to[1] }]);
      expect(await limiter.peek('key')).toMatchObject({ limit: to[0], remaining: left, allowed: left > 0 });
      expect(await limiter.peek('other')).toMatchObject({ limit: to[0], remaining: to[0] });
      if (left > 0) expect(await limiter.consume('key', { cost: left })).toMatchObject({ remaining: 0 });
      expect(await limiter.consume('key')).toMatchObject({ allowed: false });
    });

    it.each(CHANGES)('and back gives nobody a second quota, from %s', async (_, from, to, left) => {
      const [limiter] = await used(from);
      for (let i = 0; i < 5; i++) {
        limiter.update({ policies: [policy(...to)] });
        expect((await limiter.peek('key')).remaining).toBe(left);
        limiter.update({ policies: [policy(...from)] });
        expect((await limiter.peek('key')).remaining).toBe(from[0] - 80);
      }
    });

    it('takes effect while requests are on their way, and loses none', async () => {
      const { limiter } = suite.open(policy(100, MINUTE), 1000 * HOUR);
      const before = Array.from({ length: 60 }, () => limiter.consume('key'));
      limiter.update({ policies: [policy(200, MINUTE)] });
      const after = Array.from({ length: 60 }, () => limiter.consume('key'));
      const decisions = await Promise.all([...before, ...after]);
      expect(decisions.every(({ allowed }) => allowed)).toBe(true);
      expect((await limiter.peek('key')).remaining).toBe(80);
    });

    it('corrects what was charged before it', async () => {
      const { limiter } = suite.open(policy(100, MINUTE), 1000 * HOUR);
      const one = await limiter.consume('key', { cost: 30 });
      const other = await limiter.consume('key', { cost: 30 });
      limiter.update({ policies: [policy(200, MINUTE)] });
      // A queue gives back only what nobody queued behind.
      await limiter.refund(other, 10);
      expect((await limiter.peek('key')).remaining).toBe(150);
      await limiter.settle(other, 50);
      expect((await limiter.peek('key')).remaining).toBe(120);
      expect(one.allowed).toBe(true);
    });

    it('is seen by a limit of a request, which stands in for the new one', async () => {
      const [limiter] = await used([100, MINUTE]);
      await limiter.consume('key', { limit: 90 });
      limiter.update({ policies: [policy(200, MINUTE)] });
      expect(await limiter.peek('key', { limit: 90 })).toMatchObject({ limit: 90, remaining: 9 });
    });
  });

  describe('An update', () => {
    const day: Policy = { name: 'day', limit: 1000, window: '1d' };
    const second: Policy = { name: 'second', algorithm: 'gcra', limit: 10, window: '1s' };

    it('changes one of several policies and leaves the other as it is', async () => {
      const { limiter } = suite.open([second, day], 1000 * HOUR);
      await limiter.consume('key', { cost: 8 });
      limiter.update({ policies: [{ ...second, limit: 20 }, day] });
      expect((await limiter.peek('key')).policies).toMatchObject([
        { name: 'second', limit: 20, remaining: 12 },
        { name: 'day', limit: 1000, remaining: 992 },
      ]);
    });

    it('switches a policy off and on again', async () => {
      const { limiter } = suite.open([second, day], 1000 * HOUR);
      const decision = await limiter.consume('key', { cost: 8 });
      limiter.update({ policies: [{ ...second, limit: Infinity }, day] });
      expect((await limiter.consume('key', { cost: 50 })).policies).toMatchObject([
        { limit: Infinity },
        { remaining: 942 },
      ]);
      await limiter.refund(decision, 3);
      limiter.update({ policies: [second, day] });
      expect((await limiter.peek('key')).policies).toMatchObject([{ remaining: 5 }, { remaining: 945 }]);
    });

    it.each<[title: string, policies: unknown, message: string]>([
      ['no policies', undefined, 'Expected `policies` to be an array of at least one policy, got undefined.'],
      ['a bad limit', [{ ...second, limit: -1 }, day], 'Expected `policies[0].limit` to be an integer >= 0'],
      [
        'another algorithm',
        [{ ...second, algorithm: 'token-bucket' }, day],
        'second (gcra), day (sliding-window-counter), got second (token-bucket)',
      ],
      ['another name', [{ ...second, name: 'other' }, day], 'got other (gcra)'],
      ['fewer policies', [second], 'got second (gcra)'],
      ['another order', [day, second], 'got day (sliding-window-counter), second (gcra)'],
    ])('to %s is refused, and changes nothing', async (_, policies, message) => {
      const { limiter } = suite.open([second, day], 1000 * HOUR);
      await limiter.consume('key');
      const before = limiter.policies;
      expect(() => limiter.update({ policies: policies as Policy[] })).toThrow(message);
      expect(limiter.policies).toBe(before);
      expect((await limiter.peek('key')).policies).toMatchObject([{ remaining: 9 }, { remaining: 999 }]);
    });

    it('of anything but policies is refused', () => {
      const { limiter } = suite.open(second);
      expect(() => limiter.update({ policies: [second], limit: 5 } as never)).toThrow('limit');
      expect(() => limiter.update(undefined as never)).toThrow(
        'Expected `options` to be an object with policies',
      );
    });
  });

  if (!suite.supports.shared) return;
  describe.each(algorithms)('Two processes of which one was updated, $title', ({ policy }) => {
    it('count together: what either admits is used for both, and neither gives a second quota', async () => {
      const name = suite.newName();
      const clock = manualClock(1000 * HOUR);
      const [older, newer] = [100, 150].map((limit) =>
        createLimiter({
          name,
          policies: [policy(limit, MINUTE)],
          store: suite.makeStore(),
          clock,
          onStoreError: 'throw',
        }),
      );
      let admitted = 0;
      for (let i = 0; i < 100; i++) {
        for (const limiter of [older, newer]) if ((await limiter.consume('key')).allowed) admitted += 1;
      }
      expect(admitted).toBe(150);
      older.close();
      newer.close();
    });
  });
}
