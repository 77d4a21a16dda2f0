/**
 * A trace: policies, and what happens to a few keys under them. Plain data, so that it can be kept in a file.
 *
 * @module
 */

import type { AlgorithmName, BlockOptions, KeyedLimit, Policy } from '@sluice/core';
import { capacityOf } from '../settings.js';
import { Random } from './random.js';

export interface Step {
  /** What a refund calls the step by. */
  readonly id: number;
  /** The clock, which may step back. */
  readonly at: number;
  readonly do:
    | 'consume'
    | 'peek'
    | 'acquire'
    | 'refund'
    | 'reset'
    | 'charge'
    | 'settle'
    | 'update'
    | 'reopen'
    | 'block'
    | 'unblock';
  readonly key: string;
  /** In place of it, where the trace is of keys of several kinds. */
  readonly keys?: Readonly<Record<string, string>>;
  readonly cost?: number;
  /** The longest that a request waits for its place. */
  readonly maxWait?: number;
  /** By policy name. */
  readonly limit?: Readonly<Record<string, number>>;
  /** Of a refund or settlement: the id of the step that it is of, and how much; of a refund all if undefined. */
  readonly of?: number;
  /** Of a charge: the first policy's units, of which the others get multiples. */
  readonly units?: number;
  /** Of a block: how long; without end if undefined. */
  readonly forMs?: number;
  /** What a limiter of keys of several kinds is updated to. */
  readonly limits?: Trace['limits'] | undefined;
  /** What the limiter is updated to, or is made anew with when it has been closed. */
  readonly policies?: readonly Policy[];
}

export interface Trace {
  readonly policies: readonly Policy[];
  /** In place of them, where the trace is of keys of several kinds. */
  readonly limits?: readonly KeyedLimit[];
  readonly steps: readonly Step[];
}

const MOST = Number.MAX_SAFE_INTEGER;
const DAY = 86_400_000;
const ALGORITHMS: readonly AlgorithmName[] = [
  'fixed-window',
  'sliding-window-log',
  'sliding-window-counter',
  'token-bucket',
  'gcra',
  'leaky-bucket',
];

/** The trace that belongs to the seed: one to three policies, and `length` steps on two keys. */
export function traceFrom(seed: number, length: number): Trace {
  const random = new Random(seed);
  const count = random.pick([1, 1, 2, 3]);
  const policies = Array.from({ length: count }, (_, i) => policyFrom(random, `p${i}`));
  return { policies, steps: stepsFrom(random, policies, 0, length, startFrom(random)) };
}

/** The same, but that other numbers take over every few steps. */
export function changingFrom(seed: number, length: number): Trace {
  const random = new Random(seed);
  const count = random.pick([1, 1, 2, 3]);
  // Half of them are of the algorithm whose state does not always look the same.
  const algorithm = () => (random.chance(0.4) ? 'sliding-window-counter' : random.pick(ALGORITHMS));
  const policies = Array.from({ length: count }, (_, i) => policyFrom(random, `p${i}`, algorithm()));
  const most = random.pick([4, 8, 16]);
  const steps = stepsFrom(random, policies, 0, random.whole(1, most), startFrom(random));
  let current: readonly Policy[] = policies;
  while (steps.length < length) {
    const { id, at } = steps[steps.length - 1];
    current = current.map((policy) => (random.chance(0.7) ? changedFrom(random, policy) : policy));
    steps.push({
      id: id + 1,
      at,
      do: random.chance(0.8) ? 'update' : 'reopen',
      key: 'a',
      policies: current,
    });
    steps.push(...stepsFrom(random, current, id + 2, random.whole(1, most), at));
  }
  return { policies, steps };
}

/** The trace that belongs to the seed, of two or three kinds of keys: each of one to three policies, and of two keys. */
export function keysTraceFrom(seed: number, length: number): Trace {
  const random = new Random(seed);
  const kinds = ['x', 'y', 'z'].slice(0, random.pick([2, 2, 3]));
  const limits = kinds.map((name) => {
    const count = random.pick([1, 1, 2, 3]);
    return { name, policies: Array.from({ length: count }, (_, i) => policyFrom(random, `p${i}`)) };
  });
  const keyed = (step: Step): Step => {
    const some = kinds.filter(() => random.chance(0.8));
    const named = some.length === 0 ? [random.pick(kinds)] : some;
    return { ...step, keys: Object.fromEntries(named.map((name) => [name, random.pick(['a', 'a', 'b'])])) };
  };
  const policies = namedByKind(limits);
  const most = random.chance(0.3) ? random.pick([8, 16]) : length;
  const steps = stepsFrom(random, policies, 0, most, startFrom(random)).map(keyed);
  let current: NonNullable<Trace['limits']> = limits;
  while (steps.length < length) {
    const { id, at } = steps[steps.length - 1];
    current = current.map(({ name, policies: own }) => ({
      name,
      policies: own.map((policy) => (random.chance(0.7) ? changedFrom(random, policy) : policy)),
    }));
    steps.push({ id: id + 1, at, do: 'update', key: 'a', limits: current });
    steps.push(...stepsFrom(random, namedByKind(current), id + 2, most, at).map(keyed));
  }
  return { policies, limits, steps };
}

function namedByKind(limits: NonNullable<Trace['limits']>): Policy[] {
  return limits.flatMap(({ name, policies }) =>
    policies.map((policy) => ({ ...policy, name: `${name}-${policy.name}` })),
  );
}

/** A trace of a log that grows beyond what Redis rewrites whole, with numbers that need 8 bytes or 16. */
export function longLogFrom(seed: number, length: number): Trace {
  const random = new Random(seed);
  const wide = random.chance(0.3);
  const window = wide ? 60 * DAY : random.whole(2000, 6000);
  const policy: Policy = { algorithm: 'sliding-window-log', name: 'p0', limit: wide ? 1e13 : 8000, window };
  let at = random.pick([0, 1.7e12, 12_345]);
  const steps = Array.from({ length }, (_, id): Step => {
    at += random.chance(0.004) ? random.whole(0, Math.floor(window / 2)) : random.whole(0, 3);
    if (random.chance(0.01)) at = Math.max(0, at - random.whole(0, 50));
    const key = 'a';
    if (random.chance(0.04))
      return { id, at, do: 'refund', key, of: Math.max(0, id - random.whole(1, 1500)) };
    if (random.chance(0.004)) return { id, at, do: 'block', key, forMs: random.whole(1, 40) };
    if (random.chance(0.001)) return { id, at, do: 'unblock', key };
    const cost = wide && random.chance(0.3) ? random.whole(1, 1e10) : random.whole(1, 3);
    return { id, at, do: random.chance(0.1) ? 'peek' : 'consume', key, cost };
  });
  return { policies: [policy], steps };
}

/** The trace with other names for its keys. */
export function withKeys(trace: Trace, names: Readonly<Record<string, string>>): Trace {
  return { ...trace, steps: trace.steps.map((step) => ({ ...step, key: names[step.key] })) };
}

/** Other numbers for a policy: some stay, so that the others are seen by themselves. */
function changedFrom(random: Random, policy: Policy): Policy {
  const fresh = policyFrom(random, policy.name as string, policy.algorithm as AlgorithmName);
  const limit = random.chance(0.5) ? policy.limit : fresh.limit;
  const before = policy.window as number;
  if (fresh.algorithm !== 'sliding-window-counter') {
    return { ...fresh, limit, window: random.chance(0.5) ? before : fresh.window };
  }
  const { buckets = 1 } = fresh;
  const { buckets: beforehand = 1 } = policy as { buckets?: number };
  const windows = [fresh.window, (before / beforehand) * buckets, Math.ceil(before / buckets) * buckets];
  return { ...fresh, limit, window: random.pick(windows) };
}

function policyFrom(random: Random, name: string, algorithm = random.pick(ALGORITHMS)): Policy {
  const window = random.pick([random.whole(1, 20), random.whole(100, 5000), 1000, 60_000, DAY, 30 * DAY]);
  const limit = limitFrom(random, algorithm);
  const plain = { name, limit, window, ...(random.chance(0.3) && { block: blockFrom(random, window) }) };
  const countDenied = random.chance(0.3);
  const capacity = random.chance(0.5) ? random.whole(1, 50) : undefined;
  switch (algorithm) {
    case 'fixed-window':
      return { ...plain, algorithm, countDenied };
    case 'sliding-window-counter': {
      const buckets = random.pick([1, 1, 1, 2, 3, 10]);
      const edge = random.pick(['weighted', 'weighted', 'drop', 'keep'] as const);
      const rounding = random.pick(['none', 'down'] as const);
      return { ...plain, algorithm, window: window * buckets, buckets, edge, rounding, countDenied };
    }
    case 'token-bucket':
    case 'gcra':
      return capacity === undefined ? { ...plain, algorithm } : { ...plain, algorithm, burst: capacity };
    case 'leaky-bucket':
      return capacity === undefined ? { ...plain, algorithm } : { ...plain, algorithm, capacity };
    default:
      return { ...plain, algorithm };
  }
}

/** Blocks that begin soon, and that end within a trace. */
function blockFrom(random: Random, window: number): BlockOptions {
  const first = random.pick([1, 20, 1000, window, 2 * window, 60_000]);
  const grow = random.pick([1, 1, 1.5, 2, 3.001]);
  const block = { after: random.pick([1, 2, 3]), for: first, grow };
  return random.chance(0.5) ? block : { ...block, max: first * random.pick([1, 2, 10]) };
}

function limitFrom(random: Random, algorithm: AlgorithmName): number {
  const large = [random.whole(1000, 1_000_000), 10_000_000_000, MOST, 9_007_199_254_740_881];
  return random.pick([
    random.whole(1, 5),
    random.whole(1, 5),
    random.whole(1, 100),
    random.whole(1, 100),
    random.pick([0, Infinity]),
    // What gcra holds exactly is bounded.
    algorithm === 'gcra' ? random.whole(1000, 4000) : random.pick(large),
  ]);
}

function startFrom(random: Random): number {
  return random.pick([0, 1.7e12, 3.9e12, 12_345]);
}

/** Steps whose ids begin with `first`, after the instant `start`. */
function stepsFrom(
  random: Random,
  policies: readonly Policy[],
  first: number,
  length: number,
  start: number,
): Step[] {
  const window = policies[0].window as number;
  const most = Math.max(1, ...policies.map(capacityOf).filter((capacity) => capacity !== Infinity));
  let at = start;
  return Array.from({ length }, (_, i): Step => {
    const id = first + i;
    at = Math.max(0, at + gapFrom(random, window));
    const key = random.pick(['a', 'a', 'b']);
    const lot = random.share();
    if (lot > 0.98) return { id, at, do: 'reset', key };
    if (lot > 0.975) return { id, at, do: 'unblock', key };
    if (lot > 0.96) {
      const step = { id, at, do: 'block', key } as const;
      return random.chance(0.1) ? step : { ...step, forMs: random.pick([1, 20, 1000, window, DAY]) };
    }
    if (lot > 0.85 && id > 0) {
      const of = Math.max(0, id - random.whole(1, 6));
      if (lot > 0.93) return { id, at, do: 'settle', key, of, units: settledFrom(random, most) };
      const step = { id, at, do: 'refund', key, of } as const;
      return random.chance(0.5) ? step : { ...step, units: random.whole(0, 3) };
    }
    const cost = random.pick([1, 1, 1, 0, random.whole(1, 5), random.whole(0, Math.min(most, MOST))]);
    const step = requestFrom(random, lot, { id, at, key, cost }, window);
    if (!random.chance(0.15)) return step;
    const { name, algorithm = 'sliding-window-counter' } = random.pick(policies);
    return { ...step, limit: { [name as string]: limitFrom(random, algorithm) } };
  });
}

/** @param lot - which kind of request it is: up to 0.85. */
function requestFrom(
  random: Random,
  lot: number,
  request: Pick<Step, 'id' | 'at' | 'key'> & { readonly cost: number },
  window: number,
): Step {
  const { cost, ...rest } = request;
  if (lot > 0.83) return { ...rest, do: 'charge', units: Math.min(cost, 2 ** 50) };
  if (lot > 0.75) return { ...request, do: 'peek' };
  if (lot < 0.55) return { ...request, do: 'consume' };
  const maxWait = random.pick([0, random.whole(0, window), 2 * window, 1e15, 1e15]);
  // What costs nothing takes no place: it would be held for what was before it.
  return { ...request, do: 'acquire', cost: Math.max(1, cost), maxWait };
}

/** Most within a few units, some far above what there is. */
function settledFrom(random: Random, most: number): number {
  return random.pick([random.whole(0, 5), random.whole(0, 5), random.whole(0, Math.min(2 * most, MOST))]);
}

function gapFrom(random: Random, window: number): number {
  return random.pick([
    0,
    0,
    1,
    random.whole(0, 20),
    random.whole(0, 1000),
    random.whole(0, 100_000),
    random.whole(0, window),
    window,
    -random.whole(0, 30),
    -random.whole(0, 2 * window),
  ]);
}
