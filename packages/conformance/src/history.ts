/**
 * Random histories: what a key went through before a law is put to the test.
 *
 * @module
 */

import {
  createLimiter,
  type Limiter,
  type ManualClock,
  MemoryStore,
  manualClock,
  type Store,
} from '@sluice/core';
import fc from 'fast-check';
import { anyPolicy, beginnings, gapOf } from './arbitraries.js';
import type { PlainPolicy } from './reference.js';
import { capacityOf } from './settings.js';

/** One request: after a pause, for some units or for all that is left. */
interface Request {
  readonly gap: number;
  readonly cost: number | 'rest';
}

export interface History {
  readonly policies: readonly PlainPolicy[];
  readonly begin: number;
  readonly requests: readonly Request[];
}

/** What was admitted, when, and how long it was to wait. */
export interface Admission {
  readonly at: number;
  readonly cost: number;
  readonly delayMs: number;
}

/** A limiter on a clock of its own, after a history. */
export interface Aged {
  readonly limiter: Limiter<false>;
  readonly clock: ManualClock;
  /** The least of the capacities: no request can be larger. */
  readonly capacity: number;
  readonly admissions: readonly Admission[];
}

export function historyOf(policies: fc.Arbitrary<readonly PlainPolicy[]>, most = 30): fc.Arbitrary<History> {
  return policies.chain((list) => {
    const capacity = Math.min(...list.map(capacityOf));
    const cost = fc.oneof(
      { arbitrary: fc.constant(1), weight: 5 },
      { arbitrary: fc.integer({ min: 0, max: capacity }), weight: 2 },
      { arbitrary: fc.constant('rest' as const), weight: 3 },
    );
    return fc.record({
      policies: fc.constant(list),
      begin: beginnings,
      requests: fc.array(fc.record({ gap: gapOf(list[0].window), cost }), { maxLength: most, size: 'max' }),
    });
  });
}

/** One policy of any algorithm. */
export const onePolicy: fc.Arbitrary<readonly PlainPolicy[]> = anyPolicy.map((policy) => [policy]);

/** One to three policies of any algorithm. */
export const somePolicies: fc.Arbitrary<readonly PlainPolicy[]> = fc.array(anyPolicy, {
  minLength: 1,
  maxLength: 3,
});

/** Lives the history through, on a store that answers at once. */
export function live({ policies, begin, requests }: History, store: Store<false> = new MemoryStore()): Aged {
  const clock = manualClock(begin);
  const named = policies.map((policy, i) => ({ ...policy, name: `p${i}` }));
  const limiter = createLimiter({ policies: named, clock, store });
  const admissions: Admission[] = [];
  for (const request of requests) {
    clock.advance(request.gap);
    const cost = request.cost === 'rest' ? leastLeft(limiter) : request.cost;
    const { allowed, delayMs } = limiter.consume('key', { cost });
    if (allowed && cost > 0) admissions.push({ at: clock.now(), cost, delayMs });
  }
  return { limiter, clock, capacity: Math.min(...policies.map(capacityOf)), admissions };
}

function leastLeft(limiter: Limiter<false>): number {
  return Math.min(...limiter.peek('key').policies.map((policy) => policy.remaining));
}
