import type { Decision, Limiter, Policy } from '@sluice/core';
import { settings } from '../settings.js';
import type { Suite } from './suite.js';

const byPolicy = { policy: 'default', by: 'policy' } as const;
const byHand = { policy: 'default', by: 'hand' } as const;

/** Two in a second; two strikes begin a block of 5 s, then 10 s, then 15 s at most. */
const blocking = {
  algorithm: 'fixed-window',
  limit: 2,
  window: 1000,
  block: { after: 2, for: '5s', grow: 2, max: '15s' },
} as const satisfies Policy;

/** Uses up a window of the limiter and goes on until the key is blocked; returns the wait. */
async function provoke(limiter: Limiter): Promise<number> {
  await limiter.consume('key', { cost: 2 });
  await limiter.consume('key');
  const last: Decision = await limiter.consume('key');
  expect(last).toMatchObject({ allowed: false, block: byPolicy });
  return last.retryAfterMs;
}

export function block(suite: Suite): void {
  describe('A policy that blocks', () => {
    it('blocks from the strike that is one too many, for as long as it says from then on', async () => {
      const { limiter, clock, times } = suite.open(blocking, 250);
      const [, , strike, last, after] = await times(5);
      expect(strike).toMatchObject({ allowed: false, retryAfterMs: 750 });
      expect(strike).not.toHaveProperty('block');
      for (const decision of [last, after]) {
        expect(decision).toMatchObject({ allowed: false, block: byPolicy, remaining: 0, delayMs: 0 });
        expect(decision).toMatchObject({ retryAfterMs: 5000, resetMs: 5000 });
        expect(decision.policies).toMatchObject([
          { blockedBy: 'policy', allowed: false, retryAfterMs: 5000 },
        ]);
      }
      clock.set(5249);
      expect(await limiter.consume('key', { cost: 0 })).toMatchObject({ allowed: false, retryAfterMs: 1 });
      expect(await limiter.peek('key')).toMatchObject({ allowed: false, block: byPolicy, retryAfterMs: 1 });
      clock.set(5250);
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, remaining: 1 });
    });

    it('is not prolonged by whoever goes on', async () => {
      const policy = { ...blocking, limit: 1, block: { after: 1, for: 2000 } };
      const { limiter, clock } = suite.open(policy);
      const served: number[] = [];
      for (let at = 0; at < 10_000; at += 100) {
        clock.set(at);
        if ((await limiter.consume('key')).allowed) served.push(at);
      }
      // Each is followed by a strike 100 ms later.
      expect(served).toEqual([0, 2100, 4200, 6300, 8400]);
    });

    it('grows from block to block, up to the longest', async () => {
      const { limiter, clock } = suite.open(blocking);
      const waits: number[] = [];
      for (let i = 0; i < 4; i++) {
        waits.push(await provoke(limiter));
        clock.advance(waits[i]);
      }
      expect(waits).toEqual([5000, 10_000, 15_000, 15_000]);
    });

    it('grows by thousandths, rounded up to whole ms', async () => {
      const { limiter, clock } = suite.open({ ...blocking, block: { after: 2, for: 1001, grow: 1.001 } });
      const waits: number[] = [];
      for (let i = 0; i < 3; i++) {
        waits.push(await provoke(limiter));
        clock.advance(waits[i] + 999);
      }
      // 1002.001 and 1004.003.
      expect(waits).toEqual([1001, 1003, 1005]);
    });

    it.each([
      [9999, 10_000],
      [10_000, 5000],
    ])(
      'remembers for as long again how long the last was: %i ms after its beginning the next takes %i',
      async (afterMs, wait) => {
        const { limiter, clock } = suite.open(blocking);
        await provoke(limiter);
        clock.set(afterMs);
        expect(await provoke(limiter)).toBe(wait);
      },
    );

    it.each([
      [999, byPolicy],
      [1000, undefined],
    ])(
      'forgets strikes when a whole window has passed: %i ms after one the next %j',
      async (afterMs, expected) => {
        const { limiter, clock } = suite.open(blocking, 250);
        await limiter.consume('key', { cost: 2 });
        await limiter.consume('key');
        clock.advance(afterMs);
        await limiter.consume('key', { cost: 2 });
        expect((await limiter.consume('key')).block).toEqual(expected);
      },
    );

    it('counts no strike of what is admitted, looks only, costs nothing, or can never fit', async () => {
      const { limiter, times } = suite.open(blocking, 250);
      await times(2);
      await limiter.peek('key');
      await limiter.consume('key', { cost: 0 });
      await limiter.consume('key', { cost: 3 });
      await limiter.consume('key');
      expect(await limiter.peek('key')).toMatchObject({ retryAfterMs: 750 });
      expect(await limiter.peek('key')).not.toHaveProperty('block');
      expect((await limiter.consume('key', { cost: 2 })).block).toEqual(byPolicy);
      // It never fits, also when the block is over; that of the key is as long as it was.
      expect(await limiter.consume('key', { cost: 3 })).toMatchObject({
        block: byPolicy,
        retryAfterMs: Infinity,
      });
      expect(await limiter.consume('key')).toMatchObject({ retryAfterMs: 5000 });
    });

    it('forgets nothing of what was used: a wait ends when the request fits after the block', async () => {
      const policy: Policy = {
        algorithm: 'sliding-window-log',
        limit: 2,
        window: 10_000,
        block: { after: 1, for: 1000 },
      };
      const { limiter, clock, times } = suite.open(policy, 500);
      const decisions = await times(3);
      expect(decisions[2]).toMatchObject({ block: byPolicy, retryAfterMs: 10_000, resetMs: 10_000 });
      clock.set(1499);
      expect(await limiter.peek('key')).toMatchObject({ block: byPolicy, retryAfterMs: 9001 });
      clock.set(1500);
      expect(await limiter.peek('key')).toMatchObject({ allowed: false, retryAfterMs: 9000 });
      expect(await limiter.peek('key')).not.toHaveProperty('block');
      clock.set(10_500);
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, remaining: 1 });
    });

    it('counts no denied request while it blocks, where others count', async () => {
      const policy: Policy = {
        algorithm: 'sliding-window-counter',
        edge: 'keep',
        limit: 2,
        window: 1000,
        countDenied: true,
        block: { after: 1, for: 500 },
      };
      const { limiter, clock, times } = suite.open(policy);
      // The third counts, as it comes before the block: three are in the bucket, and leave at 2000.
      const decisions = await times(6);
      for (const decision of decisions.slice(2)) {
        expect(decision).toMatchObject({ block: byPolicy, retryAfterMs: 2000, resetMs: 2000 });
      }
      clock.set(2000);
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, remaining: 1 });
    });

    it('says which of several policies it is, and lets nothing be charged to the others', async () => {
      const { limiter, clock } = suite.open([
        { ...blocking, name: 'second', block: { after: 1, for: 2000 } },
        { algorithm: 'fixed-window', name: 'day', limit: 10, window: '1d', countDenied: true },
      ]);
      await limiter.consume('key', { cost: 2 });
      // The strike itself comes before the block, and counts for the day; nothing after it does.
      for (let i = 0; i < 3; i++) {
        const decision = await limiter.consume('key');
        expect(decision).toMatchObject({ allowed: false, policy: 'second', retryAfterMs: 2000 });
        expect(decision.block).toEqual({ policy: 'second', by: 'policy' });
        expect(decision.policies[1]).toMatchObject({ allowed: true, remaining: 7 });
        expect(decision.policies[1]).not.toHaveProperty('blockedBy');
      }
      const large = await limiter.consume('key', { cost: 8 });
      expect(large).toMatchObject({ allowed: false, policy: 'second', retryAfterMs: Infinity });
      clock.set(2000);
      expect(await limiter.consume('key')).toMatchObject({ allowed: true });
    });

    it('is told where another policy binds', async () => {
      const { times } = suite.open([
        { ...blocking, name: 'second', block: { after: 1, for: 2000 } },
        { algorithm: 'fixed-window', name: 'day', limit: 2, window: '1d' },
      ]);
      const [, , strike, blocked] = await times(4);
      for (const decision of [strike, blocked]) {
        expect(decision).toMatchObject({ allowed: false, policy: 'day', retryAfterMs: 86_400_000 });
        expect(decision.block).toEqual({ policy: 'second', by: 'policy' });
      }
    });

    it('goes by its new numbers at once, and shortens no block that is there', async () => {
      const { limiter, clock } = suite.open(blocking);
      await limiter.consume('key', { cost: 2 });
      await limiter.consume('key');
      limiter.update({ policies: [{ ...blocking, block: { after: 3, for: 3000 } }] });
      expect(await limiter.consume('key')).not.toHaveProperty('block');
      expect(await limiter.consume('key')).toMatchObject({ block: byPolicy, retryAfterMs: 3000 });
      limiter.update({ policies: [{ algorithm: 'fixed-window', limit: 9, window: 1000 }] });
      expect(await limiter.consume('key')).toMatchObject({ block: byPolicy, retryAfterMs: 3000 });
      clock.set(3000);
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, remaining: 8 });
    });
  });

  describe.each(settings)('A block by hand, $title', ({ policy }) => {
    it('needs no option, denies all for its time, and leaves what was used alone', async () => {
      const { limiter, clock, times } = suite.open(policy(2, 1000), 250);
      await times(1);
      const before = await limiter.peek('key');
      expect(await limiter.block('key', 100)).toBeUndefined();
      const blocked = await limiter.consume('key');
      expect(blocked).toMatchObject({ allowed: false, block: byHand, remaining: 0, retryAfterMs: 100 });
      expect(blocked.policies).toMatchObject([{ blockedBy: 'hand' }]);
      expect(await limiter.consume('other')).toMatchObject({ allowed: true });
      await limiter.unblock('key');
      expect(await limiter.peek('key')).toEqual(before);
      await limiter.block('key', 100);
      clock.advance(100);
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, remaining: 0 });
    });

    it('gives back and corrects what was charged before', async () => {
      const { limiter, times } = suite.open(policy(3, 1000), 250);
      const [first, second] = await times(2);
      await limiter.block('key', 100);
      await limiter.refund(first);
      await limiter.settle(second, 2);
      expect(await limiter.peek('key')).toMatchObject({ block: byHand });
      await limiter.unblock('key');
      // A queue gives back only what nobody stands behind, which is what `refund` is tested for.
      const { remaining } = await limiter.peek('key');
      expect([0, 1]).toContain(remaining);
    });
  });

  describe('A block by hand', () => {
    const policy: Policy = { algorithm: 'fixed-window', limit: 2, window: 1000 };

    it('without end is not shortened by what comes later', async () => {
      const { limiter, clock } = suite.open(policy);
      await limiter.block('key', Infinity);
      await limiter.consume('key');
      clock.set(1000);
      await limiter.block('key', 10);
      clock.set(5000);
      expect(await limiter.consume('key')).toMatchObject({
        allowed: false,
        block: byHand,
        retryAfterMs: Infinity,
        resetMs: Infinity,
      });
      await limiter.unblock('key');
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, remaining: 1 });
    });

    it('may last for thirty thousand years', async () => {
      const { limiter, clock } = suite.open(policy);
      await limiter.block('key', 1e12);
      clock.set(1e12 - 1);
      expect(await limiter.consume('key')).toMatchObject({ block: byHand, retryAfterMs: 1 });
      clock.set(1e12);
      expect(await limiter.consume('key')).toMatchObject({ allowed: true });
    });

    it('takes its own length again and no more where the clock has stepped back', async () => {
      const { limiter, clock } = suite.open(blocking, 1_000_000);
      await limiter.block('key', 5000);
      clock.set(400_000);
      expect(await limiter.peek('key')).toMatchObject({ retryAfterMs: 5000 });
      clock.set(400_500);
      expect(await limiter.consume('key')).toMatchObject({ block: byHand, retryAfterMs: 5000 });
      clock.set(405_499);
      expect(await limiter.consume('key')).toMatchObject({ block: byHand, retryAfterMs: 1 });
      clock.set(405_500);
      expect(await limiter.peek('key')).not.toHaveProperty('block');
    });

    it('holds beside one of the policy: the one that ends later is told', async () => {
      const { limiter, clock } = suite.open(blocking);
      await provoke(limiter);
      await limiter.block('key', 4999);
      expect(await limiter.consume('key')).toMatchObject({ block: byPolicy, retryAfterMs: 5000 });
      await limiter.block('key', 6000);
      expect(await limiter.consume('key')).toMatchObject({ block: byHand, retryAfterMs: 6000 });
      clock.set(6000);
      expect(await provoke(limiter)).toBe(10_000);
    });

    it('ends with `unblock`, which forgets strikes and lengths, and keeps what was used', async () => {
      const { limiter, clock } = suite.open(blocking);
      await provoke(limiter);
      await limiter.unblock('key');
      expect(await limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 1000 });
      await limiter.unblock('key');
      expect(await limiter.consume('key')).not.toHaveProperty('block');
      expect(await limiter.consume('key')).toMatchObject({ block: byPolicy, retryAfterMs: 5000 });
      await limiter.unblock('nobody');
      clock.set(1000);
      await limiter.unblock('key');
      expect(await limiter.consume('key')).toMatchObject({ allowed: true, remaining: 1 });
    });

    it('ends with `reset`, which makes the key as new', async () => {
      const { limiter } = suite.open(blocking);
      const fresh = await limiter.peek('key');
      await provoke(limiter);
      await limiter.reset('key');
      expect(await limiter.peek('key')).toEqual(fresh);
      expect(await provoke(limiter)).toBe(5000);
    });

    it('is in all policies, whatever limit a request brings along, unless it brings none', async () => {
      const { limiter } = suite.open([
        { ...policy, name: 'one' },
        { ...policy, name: 'two', limit: Infinity },
      ]);
      await limiter.block('key', 100);
      const decision = await limiter.consume('key', { limit: { one: 50, two: 9 } });
      expect(decision.block).toEqual({ policy: 'one', by: 'hand' });
      expect(decision.policies).toMatchObject([{ blockedBy: 'hand' }, { blockedBy: 'hand' }]);
      expect(await limiter.consume('key', { limit: { one: Infinity } })).toMatchObject({ allowed: true });
    });

    it('refuses what is no key and no time', async () => {
      const { limiter } = suite.open(policy);
      const says = async (work: () => unknown) => {
        try {
          await work();
          return 'nothing';
        } catch (error) {
          return `${(error as { code: string }).code} ${(error as Error).message}`;
        }
      };
      const noKey = 'ERR_SLUICE_ARGUMENT Expected `key` to be a string, got 5.';
      expect(await says(() => limiter.block(5 as never, 1))).toBe(noKey);
      expect(await says(() => limiter.unblock(5 as never))).toBe(noKey);
      for (const none of [0, -1, 1.5, NaN, -Infinity, '10', 'for ever', null, undefined, 2e15]) {
        expect(await says(() => limiter.block('key', none as never))).toMatch(
          /^ERR_SLUICE_ARGUMENT Expected `duration` to be a duration: .* or Infinity, got/,
        );
      }
      expect(await limiter.consume('key')).toMatchObject({ allowed: true });
      limiter.close();
      expect(await says(() => limiter.block('key', 1))).toMatch(/^ERR_SLUICE_CLOSED/);
      expect(await says(() => limiter.unblock('key'))).toMatch(/^ERR_SLUICE_CLOSED/);
    });
  });
}
