import { createLimiter, type Decision, type Limiter } from '@sluice/core';
import { settings } from '../settings.js';
import type { Suite } from './suite.js';

const isBucket = (title: string) => /^(token-bucket|gcra|leaky-bucket)/.test(title);

/** Consumes, and settles the decision for each cost in turn. */
async function settled(
  limiter: Limiter,
  key: string,
  cost: number,
  costs: readonly number[],
): Promise<Decision> {
  const decision = await limiter.consume(key, { cost });
  for (const each of costs) expect(await limiter.settle(decision, each)).toBeUndefined();
  return decision;
}

export function settle(suite: Suite): void {
  describe.each(settings)('Settling, $title', ({ title, policy }) => {
    it.each([
      ['more', 1, [3]],
      ['less', 4, [3]],
      ['as much', 3, [3]],
      ['more, less and more again', 2, [5, 1, 3]],
      ['more than is left, and less again', 1, [5, 3]],
    ])('for %s leaves what that cost would have left', async (_, cost, costs) => {
      const { limiter } = suite.open(policy(5, 1000), 250);
      await limiter.consume('expected', { cost: 3 });
      await settled(limiter, 'key', cost, costs);
      expect(await limiter.peek('key')).toEqual(await limiter.peek('expected'));
      expect(await limiter.peek('key', { cost: 3 })).toEqual(await limiter.peek('expected', { cost: 3 }));
    });

    it.each([
      ['for less again', [1000, 1], 4],
      ['for less twice', [1000, 500, 1], 4],
      ['for more, and less again', [1000, 2000, 2], 3],
      ['for more within what is left, and less again', [1, 2, 1], 4],
    ])(
      '%s leaves what others were charged, also where more than can be kept was added',
      async (_, costs, left) => {
        const { limiter } = suite.open(policy(8, 1000), 250);
        await limiter.consume('key', { cost: 3 });
        await settled(limiter, 'key', 1, costs);
        expect((await limiter.peek('key')).remaining).toBe(left);
      },
    );

    it('for less while more is still on its way leaves what others were charged', async () => {
      const { limiter } = suite.open(policy(8, 1000), 250);
      await limiter.consume('key', { cost: 3 });
      const decision = await limiter.consume('key');
      await Promise.all([limiter.settle(decision, 1000), limiter.settle(decision, 1)]);
      expect((await limiter.peek('key')).remaining).toBe(4);
      await Promise.all([limiter.refund(decision), limiter.refund(decision)]);
      expect((await limiter.peek('key')).remaining).toBe(5);
    });

    it('and giving back after more was added than can be kept leaves what others were charged', async () => {
      const { limiter } = suite.open(policy(8, 1000), 250);
      await limiter.consume('key', { cost: 3 });
      const decision = await settled(limiter, 'key', 1, [1000]);
      await limiter.refund(decision, 999);
      expect((await limiter.peek('key')).remaining).toBe(4);
      await limiter.refund(decision);
      expect((await limiter.peek('key')).remaining).toBe(5);
      await limiter.refund(decision);
      expect((await limiter.peek('key')).remaining).toBe(5);
    });

    it('keeps what is more than is left as debt, and says exactly when that is over', async () => {
      const { limiter, clock } = suite.open(policy(5, 1000), 250);
      await settled(limiter, 'key', 2, [12]);
      const owing = await limiter.peek('key');
      expect(owing).toMatchObject({ allowed: false, remaining: 0 });
      expect(await limiter.peek('key', { cost: 0 })).toMatchObject({ allowed: true, remaining: 0 });
      clock.advance(owing.retryAfterMs - 1);
      expect((await limiter.peek('key')).allowed).toBe(false);
      clock.advance(1);
      expect((await limiter.peek('key')).allowed).toBe(true);
      clock.advance((await limiter.peek('key')).resetMs - 1);
      expect((await limiter.peek('key', { cost: 5 })).allowed).toBe(false);
      clock.advance(1);
      expect(await limiter.peek('key', { cost: 5 })).toMatchObject({ allowed: true, resetMs: 0 });
    });

    it('goes on owing where requests are denied, and takes nothing over from itself', async () => {
      const { limiter } = suite.open(policy(5, 1000), 250);
      await settled(limiter, 'key', 2, [12]);
      const owing = await limiter.peek('key');
      for (let i = 0; i < 3; i++) expect(await limiter.consume('key')).toEqual(owing);
    });

    it('of nothing that was charged adds what it cost', async () => {
      const { limiter } = suite.open(policy(5, 1000), 250);
      await settled(limiter, 'key', 0, [3]);
      expect(await limiter.peek('key')).toMatchObject({ allowed: true, remaining: 2 });
    });

    it('of a denied request or a peek changes nothing', async () => {
      const { limiter } = suite.open(policy(3, 1000), 250);
      await limiter.consume('key', { cost: 2 });
      const before = await limiter.peek('key');
      await limiter.settle(await limiter.consume('key', { cost: 2 }), 3);
      await limiter.settle(before, 3);
      expect(await limiter.peek('key')).toEqual(before);
    });

    it('long after is too late for a window, and debt for a bucket', async () => {
      const { limiter, clock } = suite.open(policy(5, 1000), 250);
      const decision = await limiter.consume('key');
      clock.advance(1_000_000);
      await limiter.settle(decision, 3);
      expect(await limiter.peek('key')).toMatchObject({ remaining: isBucket(title) ? 3 : 5 });
    });

    it('gives back at most what it cost, by a refund afterwards', async () => {
      const { limiter } = suite.open(policy(5, 1000), 250);
      const decision = await settled(limiter, 'key', 1, [4]);
      await limiter.refund(decision, 3);
      expect(await limiter.peek('key')).toMatchObject({ remaining: 4 });
      await limiter.refund(decision);
      await limiter.refund(decision);
      expect(await limiter.peek('key')).toMatchObject({ remaining: 5 });
    });
  });

  describe('Debt', () => {
    /** Five per second, at 250 ms 12 units in use: the wait for one more, and until nothing is left of it. */
    it.each([
      // All in the window that ends at 1000.
      ['fixed-window', 750, 750],
      ['sliding-window-log', 1000, 1000],
      // ceil(12 (1000 - e) / 1000) <= 4 from e = 667 on, and 0 at e = 1000 of the next window.
      ['sliding-window-counter', 750 + 667, 1750],
      // A token in 200 ms: 8 of them until 4 are owed, 12 until none is.
      ['token-bucket', 1600, 2400],
      ['leaky-bucket', 1600, 2400],
      // Remembers 5 of the 12.
      ['gcra', 200, 1000],
    ] as const)('of %s ages as its definition says', async (algorithm, retryAfterMs, resetMs) => {
      const { limiter } = suite.open({ algorithm, limit: 5, window: 1000 }, 250);
      await settled(limiter, 'key', 2, [12]);
      expect(await limiter.peek('key')).toMatchObject({ retryAfterMs, resetMs });
    });

    it('is owed to each of several policies', async () => {
      const policies = [
        { name: 'short', algorithm: 'fixed-window', limit: 5, window: 1000 },
        { name: 'long', algorithm: 'token-bucket', limit: 10, window: 10_000 },
      ] as const;
      const { limiter } = suite.open(policies, 250);
      await settled(limiter, 'key', 2, [12]);
      const { policies: each } = await limiter.peek('key');
      expect(each).toMatchObject([
        { remaining: 0, retryAfterMs: 750, resetMs: 750 },
        { remaining: 0, retryAfterMs: 3000, resetMs: 12_000 },
      ]);
    });

    it.each(['gcra', 'token-bucket', 'leaky-bucket'] as const)(
      'of %s is taken over by a policy that changes, also if a limit for one request was settled',
      async (algorithm) => {
        const { limiter, store, clock } = suite.open({ algorithm, limit: 10, window: 1000 }, 250);
        const decision = await limiter.consume('key', { limit: 5 });
        await limiter.consume('key');
        await limiter.settle(decision, 3);
        limiter.close();
        const policies = [{ algorithm, limit: 100, window: 1000 }];
        const changed = createLimiter({ name: limiter.name, policies, store, clock, onStoreError: 'throw' });
        // 4 units of 100, which come back at one in 10 ms; they would have taken 400 ms before.
        expect(await changed.peek('key')).toMatchObject({ remaining: 96, resetMs: 40 });
      },
    );

    it('that is beyond counting stops at 2^53 - 1', async () => {
      for (const algorithm of ['fixed-window', 'sliding-window-log', 'sliding-window-counter'] as const) {
        const { limiter } = suite.open({ algorithm, limit: 5, window: 1000 }, 0);
        await limiter.consume('key', { cost: 2 });
        await settled(limiter, 'key', 1, [Number.MAX_SAFE_INTEGER]);
        const peeked = await limiter.peek('key');
        expect(peeked).toMatchObject({ allowed: false, remaining: 0 });
        expect(peeked.retryAfterMs).toBeGreaterThanOrEqual(1000);
        expect(peeked.retryAfterMs).toBeLessThanOrEqual(2000);
      }
    });
  });

  it('Settling a log far beyond 2^53 leaves it in debt, and answers', async () => {
    const { limiter, clock } = suite.open({ algorithm: 'sliding-window-log', limit: 6, window: '1d' }, 0);
    await limiter.consume('key', { cost: 6 });
    for (let i = 0; i < 3; i++) {
      clock.advance(1);
      await limiter.settle(await limiter.consume('key', { cost: 0 }), Number.MAX_SAFE_INTEGER);
    }
    const denied = await limiter.consume('key', { cost: 6 });
    expect(denied).toMatchObject({ allowed: false, remaining: 0, resetMs: 86_400_000 });
    // At the latest when the last of them has left.
    expect(denied.retryAfterMs).toBe(86_400_000);
  });

  it('Settling refuses what is no decision of the limiter and what are no units', async () => {
    const { limiter } = suite.open({ limit: 5, window: 1000 });
    const other = suite.open({ limit: 5, window: 1000 });
    const decision = await limiter.consume('key');
    const attempt = async (of: unknown, units: unknown) => limiter.settle(of as Decision, units as number);
    const refused = { code: 'ERR_SLUICE_ARGUMENT' };
    for (const units of [-1, 0.5, NaN, Infinity, '1', undefined, 2 ** 53]) {
      await expect(attempt(decision, units)).rejects.toMatchObject(refused);
    }
    for (const foreign of [undefined, {}, { ...decision }, await other.limiter.consume('key')]) {
      await expect(attempt(foreign, 1)).rejects.toMatchObject(refused);
    }
    expect(await limiter.peek('key')).toMatchObject({ remaining: 4 });
  });
}
