import { createLimiter, manualClock, type Policy } from '@sluice/core';
import fc from 'fast-check';
import { algorithmNames, beginnings, policyOf } from './arbitraries.js';
import { runs } from './budget.js';
import { type Admission, historyOf, live } from './history.js';
import type { PlainPolicy } from './reference.js';
import { capacityOf } from './settings.js';

/** What no stretch from one admission to another, `length` ms later, may exceed; `undefined`: this one is not bounded. */
type Bound = (policy: PlainPolicy, length: number) => bigint | undefined;

type Counter = PlainPolicy & { buckets: number; edge: string; rounding: string };

const counter = (kind: (policy: Counter) => boolean) =>
  policyOf('sliding-window-counter').filter((policy) => kind(policy as Counter));

/** At most `units` in any window: a stretch shorter than the window. */
const inWindow =
  (units: (limit: bigint) => bigint): Bound =>
  ({ limit, window }, length) =>
    length < window ? units(BigInt(limit)) : undefined;

/** The share of the limit that comes back in `length` ms. */
const share = ({ limit, window }: PlainPolicy, length: number) =>
  (BigInt(length) * BigInt(limit)) / BigInt(window);

const refilled: Bound = (policy, length) => BigInt(capacityOf(policy)) + share(policy, length);

const bounds: [title: string, policy: fc.Arbitrary<PlainPolicy>, bound: Bound][] = [
  ['The log never admits more than L in any window', policyOf('sliding-window-log'), inWindow((L) => L)],
  [
    'The guarded ring never admits more than L in any window',
    counter((p) => p.edge === 'keep'),
    inWindow((L) => L),
  ],
  ['A fixed window admits at most 2L in any window', policyOf('fixed-window'), inWindow((L) => 2n * L)],
  [
    'The two-counter form admits at most 2L - 1 in any window',
    counter((p) => p.buckets === 1 && p.edge === 'weighted' && p.rounding === 'none'),
    inWindow((L) => 2n * L - 1n),
  ],
  [
    'The two-counter form admits at most L (1 + d / W) in a stretch of d',
    counter((p) => p.buckets === 1 && p.edge === 'weighted' && p.rounding === 'none'),
    (policy, length) => BigInt(policy.limit) + share(policy, length),
  ],
  [
    'The two-counter form rounding down admits at most 2L in any window',
    counter((p) => p.buckets === 1 && p.edge === 'weighted' && p.rounding === 'down'),
    inWindow((L) => 2n * L),
  ],
  [
    'A ring that drops its edge admits at most 2L in any window',
    counter((p) => p.edge === 'drop'),
    inWindow((L) => 2n * L),
  ],
  [
    'A ring that drops its edge admits at most L in any (B - 1) / B of a window',
    counter((p) => p.edge === 'drop' && p.buckets > 1),
    (policy, length) => {
      const { limit, window, buckets } = policy as Counter;
      return length < window - window / buckets ? BigInt(limit) : undefined;
    },
  ],
  [
    'A token bucket admits at most burst + floor(d L / W) in a stretch of d',
    policyOf('token-bucket'),
    refilled,
  ],
  ['GCRA admits at most burst + floor(d L / W) in a stretch of d', policyOf('gcra'), refilled],
  [
    'A leaky bucket admits at most capacity + floor(d L / W) in a stretch of d',
    policyOf('leaky-bucket'),
    refilled,
  ],
];

describe('What any stretch of time can admit', () => {
  it.each(bounds)('%s', (_title, policies, bound) => {
    let met = 0;
    const histories = historyOf(
      policies.map((policy) => [policy]),
      50,
    );
    const law = fc.property(histories, (history) => {
      const { admissions } = live(history);
      const stretches = admissions.flatMap((_, first) => stretchesFrom(admissions.slice(first)));
      const bounded = stretches
        .map((stretch) => ({ ...stretch, most: bound(history.policies[0], stretch.length) }))
        .filter(({ most }) => most !== undefined);
      met += bounded.filter(({ length }) => length > 0).length;
      expect(bounded.filter(({ units, most }) => units > (most as bigint))).toEqual([]);
    });
    fc.assert(law, runs(200));
    expect(met).toBeGreaterThan(100);
  });
});

/** Every stretch that begins with the first of the admissions and ends with another. */
function stretchesFrom(admissions: readonly Admission[]): { length: number; units: bigint }[] {
  let units = 0n;
  return admissions.map(({ at, cost }) => {
    units += BigInt(cost);
    return { length: at - admissions[0].at, units };
  });
}

describe('A leaky bucket', () => {
  it('lets requests start evenly: the next one when what was before it has leaked', () => {
    let met = 0;
    const histories = historyOf(
      policyOf('leaky-bucket').map((policy) => [policy]),
      40,
    );
    const law = fc.property(histories, (history) => {
      const { admissions } = live(history);
      const { limit, window } = history.policies[0];
      for (let i = 1; i < admissions.length; i++) {
        const [before, after] = [admissions[i - 1], admissions[i]];
        // Starts are whole ms, rounded up; so two of them are nearer than the exact ones by less than one.
        const length = after.at + after.delayMs - (before.at + before.delayMs) + 1;
        expect(BigInt(length) * BigInt(limit)).toBeGreaterThan(BigInt(before.cost) * BigInt(window));
        if (after.delayMs > 0) met += 1;
      }
    });
    fc.assert(law, runs(400));
    expect(met).toBeGreaterThan(100);
  });

  it('of capacity 1 holds nothing, whatever comes', () => {
    const policy = policyOf('leaky-bucket').map((any): [PlainPolicy] => [
      { ...any, capacity: 1 } as PlainPolicy,
    ]);
    const law = fc.property(historyOf(policy), (history) => {
      for (const { delayMs } of live(history).admissions) expect(delayMs).toBe(0);
    });
    fc.assert(law, runs(300));
  });
});

describe('Requests with limits of their own', () => {
  it.each(algorithmNames)('admit no more at one instant than the highest of them, under %s', (algorithm) => {
    const limits = fc.array(fc.integer({ min: 1, max: 12 }), { minLength: 2, maxLength: 4 });
    const requests = fc.array(
      fc.record({ gap: fc.constantFrom(0, 0, 0, 0, 7, 400), which: fc.nat({ max: 4 }) }),
      {
        minLength: 30,
        maxLength: 60,
        size: 'max',
      },
    );
    const law = fc.property(limits, requests, beginnings, ([own, ...others], list, begin) => {
      const clock = manualClock(begin);
      const policy = { algorithm, limit: own, window: 1000 } as Policy;
      const limiter = createLimiter({ policies: [policy], clock });
      const highest = Math.max(own, ...others);
      let atOnce = 0;
      for (const { gap, which } of list) {
        if (gap > 0) atOnce = 0;
        clock.advance(gap);
        const limit = others[which];
        const { allowed } = limit === undefined ? limiter.consume('key') : limiter.consume('key', { limit });
        if (allowed) atOnce += 1;
        expect(atOnce).toBeLessThanOrEqual(highest);
      }
    });
    fc.assert(law, runs(200));
  });
});
