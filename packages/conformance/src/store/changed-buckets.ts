import {
  createLimiter,
  type Limiter,
  type ManualClock,
  manualClock,
  type Policy,
  type SlidingWindowCounterPolicy,
} from '@sluice/core';
import type { Suite } from './suite.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
/** A window of any length here begins then. */
const START = 3_600_000 * SECOND;

/** 100 a minute, in one bucket. */
const ONE: SlidingWindowCounterPolicy = { limit: 100, window: MINUTE };
/** In six, of ten seconds. */
const SIX: SlidingWindowCounterPolicy = { ...ONE, buckets: 6 };
/** 100 in two minutes, in buckets of ten seconds. */
const TWELVE: SlidingWindowCounterPolicy = { limit: 100, window: 2 * MINUTE, buckets: 12 };

/** A limiter whose policies change, so many ms after the start. */
interface Changing {
  readonly limiter: Limiter;
  readonly clock: ManualClock;
  change(policies: Policy | readonly Policy[]): void;
  at(ms: number): void;
}

type Way = [title: string, open: (suite: Suite, policies: Policy | readonly Policy[]) => Changing];

const listOf = (policies: Policy | readonly Policy[]) =>
  (Array.isArray(policies) ? policies : [policies]) as readonly Policy[];

const WAYS: readonly Way[] = [
  [
    'an update',
    (suite, policies) => {
      const { limiter, clock } = suite.open(policies, START);
      return {
        limiter,
        clock,
        change: (next) => limiter.update({ policies: listOf(next) }),
        at: (ms) => clock.set(START + ms),
      };
    },
  ],
  [
    'another limiter of its name',
    (suite, policies) => {
      const clock = manualClock(START);
      const options = {
        name: suite.newName(),
        store: suite.makeStore(),
        clock,
        onStoreError: 'throw',
      } as const;
      const changing = {
        limiter: createLimiter({ ...options, policies: listOf(policies) }) as Limiter,
        clock,
        change: (next: Policy | readonly Policy[]) => {
          changing.limiter.close();
          changing.limiter = createLimiter({ ...options, policies: listOf(next) });
        },
        at: (ms: number) => clock.set(START + ms),
      };
      return changing;
    },
  ],
];

/** Other numbers of buckets on keys that are in use: what was used stays used, in the current bucket of the new kind. */
export function changedBuckets(suite: Suite): void {
  describe.each(WAYS)('Other buckets by %s', (_, open) => {
    /** A limiter of which 80 of 100 are used in the window that began at the start. */
    const used = async (policy: Policy): Promise<Changing> => {
      const changing = open(suite, policy);
      changing.at(10 * SECOND);
      await changing.limiter.consume('key', { cost: 80 });
      return changing;
    };
    const remaining = async ({ limiter }: Changing): Promise<number> => (await limiter.peek('key')).remaining;

    it('count what was used in the bucket in which the key is charged again, and back', async () => {
      const changing = await used(ONE);
      changing.at(30 * SECOND);
      changing.change(SIX);
      // 81 in the bucket from 30 to 40 s. It is at the edge from 90 s on, and gone at 100 s.
      expect(await changing.limiter.consume('key')).toMatchObject({ remaining: 19, resetMs: 70 * SECOND });
      changing.at(90 * SECOND - 1);
      expect(await remaining(changing)).toBe(19);
      changing.at(95 * SECOND);
      // Half of it is 40.5, which counts as 41.
      expect(await remaining(changing)).toBe(59);
      changing.change(ONE);
      // 42 in the minute from 60 s on: it is at the edge from 120 s on, and gone at 180 s.
      expect(await changing.limiter.consume('key')).toMatchObject({ remaining: 58, resetMs: 85 * SECOND });
      changing.at(120 * SECOND - 1);
      expect(await remaining(changing)).toBe(58);
      changing.at(150 * SECOND);
      expect(await remaining(changing)).toBe(79);
    });

    it.each<[SlidingWindowCounterPolicy, number]>([
      // A minute's 80 are at its edge 15 s later: three quarters of them count.
      [{ ...SIX }, 40],
      [{ ...SIX, edge: 'drop' }, 100],
      [{ ...SIX, edge: 'keep' }, 20],
    ])('count of the edge what the policy now says: %j', async (policy, left) => {
      const changing = await used(ONE);
      changing.at(75 * SECOND);
      changing.change(policy);
      expect(await remaining(changing)).toBe(left);
    });

    it.each([
      ['none', 40],
      ['down', 41],
    ] as const)('round as the policy now says: %s', async (rounding, left) => {
      const changing = open(suite, ONE);
      changing.at(10 * SECOND);
      await changing.limiter.consume('key', { cost: 79 });
      // Three quarters of 79 are 59.25.
      changing.at(75 * SECOND);
      changing.change({ ...SIX, rounding });
      expect(await remaining(changing)).toBe(left);
    });

    it('are others although they are as long as before', async () => {
      const changing = open(suite, SIX);
      changing.at(5 * SECOND);
      await changing.limiter.consume('key', { cost: 80 });
      changing.at(65 * SECOND);
      changing.change(TWELVE);
      // Half of the bucket's 80 counted still; among the twelve it would be inside the window.
      expect(await changing.limiter.consume('key', { cost: 60 })).toMatchObject({ remaining: 0 });
      // The bucket from 60 s on is at the edge from 180 s on: a unit has left it after 100 ms.
      const denied = await changing.limiter.consume('key');
      expect(denied).toMatchObject({ allowed: false, retryAfterMs: 115_100 });
      changing.clock.advance(115_099);
      expect(await changing.limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 1 });
      changing.clock.advance(1);
      expect(await changing.limiter.consume('key')).toMatchObject({ allowed: true });
    });

    it('are where a denied request is counted from, so that its wait is exact', async () => {
      const changing = open(suite, SIX);
      changing.at(5 * SECOND);
      await changing.limiter.consume('key', { cost: 80 });
      changing.at(65 * SECOND);
      changing.change(TWELVE);
      const denied = await changing.limiter.consume('key', { cost: 61 });
      // 39 of 40 are left of the bucket from 60 s on a fortieth of ten seconds after 180 s.
      expect(denied).toMatchObject({ allowed: false, remaining: 60, retryAfterMs: 115_250 });
      changing.at(69 * SECOND);
      expect(await remaining(changing)).toBe(60);
      changing.at(65 * SECOND + 115_249);
      expect(await changing.limiter.consume('key', { cost: 61 })).toMatchObject({ retryAfterMs: 1 });
      changing.at(65 * SECOND + 115_250);
      expect(await changing.limiter.consume('key', { cost: 61 })).toMatchObject({ allowed: true });
    });

    it('are not where a look, or a cost above the limit, counts from: what was used ages as it did', async () => {
      const changing = open(suite, SIX);
      changing.at(5 * SECOND);
      await changing.limiter.consume('key', { cost: 80 });
      changing.at(65 * SECOND);
      changing.change(TWELVE);
      expect(await remaining(changing)).toBe(60);
      expect(await changing.limiter.consume('key', { cost: 101 })).toMatchObject({
        allowed: false,
        retryAfterMs: Infinity,
        remaining: 60,
      });
      // A tenth of 80 is at the edge.
      changing.at(69 * SECOND);
      expect(await remaining(changing)).toBe(92);
      expect(await changing.limiter.consume('key')).toMatchObject({ remaining: 91 });
      changing.at(180 * SECOND - 1);
      expect(await remaining(changing)).toBe(91);
    });

    it('leave a key alone that is not asked for while they change and change', async () => {
      const changing = await used(ONE);
      for (const policy of [SIX, TWELVE, { ...ONE, buckets: 4 }, SIX, ONE]) changing.change(policy);
      changing.at(75 * SECOND);
      expect(await remaining(changing)).toBe(40);
      for (const policy of [SIX, TWELVE, ONE, { ...ONE, buckets: 4 }]) {
        changing.change(policy);
        expect(await remaining(changing)).toBe(40);
      }
      changing.at(90 * SECOND);
      expect(await remaining(changing)).toBe(60);
    });

    it('are written by the first charge, between looks at others', async () => {
      const changing = await used(ONE);
      changing.at(75 * SECOND);
      changing.change(SIX);
      // 61 in the bucket from 70 to 80 s.
      expect(await changing.limiter.consume('key')).toMatchObject({ remaining: 39 });
      changing.change({ ...ONE, buckets: 4 });
      expect(await remaining(changing)).toBe(39);
      changing.change(SIX);
      changing.at(135 * SECOND);
      // At the edge, half of it is 30.5.
      expect(await remaining(changing)).toBe(69);
    });

    it('hold no more than the limit, and are seen by a limit of a request', async () => {
      const changing = await used(ONE);
      changing.at(20 * SECOND);
      changing.change({ ...SIX, limit: 60 });
      expect(await changing.limiter.peek('key', { limit: 90 })).toMatchObject({ remaining: 30 });
      expect(await changing.limiter.consume('key', { limit: 50 })).toMatchObject({ allowed: false });
      changing.change(SIX);
      expect(await remaining(changing)).toBe(40);
      // The denied request has counted the 60 in the bucket from 20 to 30 s.
      changing.at(85 * SECOND);
      expect(await remaining(changing)).toBe(70);
    });

    it('are forgotten by a reset', async () => {
      const changing = await used(ONE);
      changing.change(SIX);
      await changing.limiter.reset('key');
      expect(await changing.limiter.peek('key')).toMatchObject({ remaining: 100, resetMs: 0 });
      changing.change(ONE);
      expect(await changing.limiter.peek('key')).toMatchObject({ remaining: 100, resetMs: 0 });
    });

    it('change one policy of several by itself', async () => {
      const counter = { ...ONE, name: 'counter' };
      const log: Policy = { name: 'log', algorithm: 'sliding-window-log', limit: 10, window: MINUTE };
      const gcra: Policy = { name: 'gcra', algorithm: 'gcra', limit: 10, window: 10 * SECOND };
      const changing = open(suite, [counter, log, gcra]);
      const left = async () =>
        (await changing.limiter.peek('key')).policies.map((policy) => policy.remaining);
      changing.at(10 * SECOND);
      await changing.limiter.consume('key', { cost: 4 });
      changing.at(12 * SECOND);
      await changing.limiter.consume('key', { cost: 4 });
      changing.change([{ ...counter, buckets: 6 }, log, gcra]);
      // A unit a second comes back to the bucket.
      expect(await left()).toEqual([92, 2, 4]);
      changing.at(70 * SECOND);
      // 8 at the edge of the minute, of which five sixths count; of the log four have left.
      expect(await left()).toEqual([93, 6, 10]);
      // Denied by the log, so it is charged to none: the counter's 8 age on.
      expect(await changing.limiter.consume('key', { cost: 7 })).toMatchObject({
        allowed: false,
        policy: 'log',
        retryAfterMs: 2 * SECOND,
      });
      changing.at(90 * SECOND);
      expect(await left()).toEqual([96, 10, 10]);
      const { policies } = await changing.limiter.consume('key');
      expect(policies.map((policy) => policy.remaining)).toEqual([95, 9, 9]);
      // Five in the bucket from 90 s on, of which a half counts at 155 s; the log's one has left.
      changing.at(155 * SECOND);
      expect(await left()).toEqual([97, 10, 10]);
    });

    it('change while a policy is left out, which is changed when it counts again', async () => {
      const policies = [
        { ...ONE, name: 'a' },
        { ...ONE, name: 'b' },
      ];
      const changing = open(suite, policies);
      const left = async () =>
        (await changing.limiter.peek('key')).policies.map((policy) => policy.remaining);
      changing.at(10 * SECOND);
      await changing.limiter.consume('key', { cost: 80 });
      changing.at(20 * SECOND);
      changing.change(policies.map((policy) => ({ ...policy, buckets: 6 })));
      await changing.limiter.consume('key', { limit: { b: Infinity } });
      // The first has 81 in the bucket from 20 to 30 s, the other 80 in the minute, of which three quarters count.
      changing.at(75 * SECOND);
      expect(await left()).toEqual([19, 40]);
    });
  });

  describe('A correction across other buckets', () => {
    /** 30 units, charged in one bucket 10 s after the start, 10 s before they are six. */
    const charged = async () => {
      const { limiter, clock } = suite.open(ONE, START + 10 * SECOND);
      const decision = await limiter.consume('key', { cost: 30 });
      clock.set(START + 20 * SECOND);
      limiter.update({ policies: [SIX] });
      return { limiter, clock, decision };
    };
    const left = async (limiter: Limiter) => (await limiter.peek('key')).remaining;

    it('gives back to the bucket that was charged, which counts as it did', async () => {
      const { limiter, clock, decision } = await charged();
      await limiter.refund(decision, 10);
      expect(await left(limiter)).toBe(80);
      // 20 at the edge of the minute, three quarters of them.
      clock.set(START + 75 * SECOND);
      expect(await left(limiter)).toBe(85);
    });

    it('leaves nothing of a key when all is given back', async () => {
      const { limiter, decision } = await charged();
      await limiter.refund(decision);
      expect(await limiter.peek('key')).toMatchObject({ remaining: 100, resetMs: 0 });
    });

    it('gives nothing back once the bucket that was charged is no more', async () => {
      const { limiter, decision } = await charged();
      await limiter.consume('key', { cost: 5 });
      await limiter.refund(decision, 10);
      expect(await left(limiter)).toBe(65);
    });

    it('adds to the bucket of the new kind in which the charge was', async () => {
      const { limiter, clock, decision } = await charged();
      await limiter.settle(decision, 50);
      expect(await left(limiter)).toBe(50);
      // 30 in the bucket from 20 s on, and of the 20 in that from 10 s on a half.
      clock.set(START + 75 * SECOND);
      expect(await left(limiter)).toBe(60);
      clock.set(START + 85 * SECOND);
      expect(await left(limiter)).toBe(85);
    });
  });
}
