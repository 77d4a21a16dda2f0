/**
 * Sliding-window counter: the window cut into buckets, the oldest of which counts in part.
 *
 * Bucket number s = floor(t / bucket) is the current one. The last `buckets` of them count in full (`total`); of the
 * one before, the edge, a part counts: in proportion to what of it is still inside the window, nothing, or all.
 * `total + part + cost <= limit`, where the part is rounded up (`rounding: 'down'`: down), which is the same as
 * comparing the products `old * (bucket - e)` and `(limit - cost - total) * bucket`.
 *
 * numbers: limit, bucket (ms), buckets, edge (0 weighted, 1 drop, 2 keep), down, own (the policy's own limit),
 *   countDenied.
 * state: s, bucket (ms), total, the edge's count, then the counts of the buckets s - 1 … s - buckets + 1. The current
 * bucket's own count is what the total holds beyond those, so the plain two-counter form needs four numbers.
 *
 * @module
 */

import type { Charge } from '../types.js';
import { ceilMulDiv, floorMulDiv, MOST } from './exact.js';
import {
  ALWAYS,
  type Algorithm,
  IF_ADMITTED,
  NEVER,
  NEXT,
  NOTHING,
  ownLimit,
  type Row,
  report,
} from './outcome.js';

const EDGES = ['weighted', 'drop', 'keep'];
const DROP = 1;
const KEEP = 2;

/** Where the edge's count stands in a state. */
const EDGE = 3;

/** `of`: how many buckets the state is of that is read, where they are not as many as the policy's. */
interface RingAlgorithm extends Algorithm {
  decide(
    numbers: readonly number[],
    state: Row,
    base: number,
    now: number,
    cost: number,
    out: Row,
    of?: number,
  ): void;
  refund(
    numbers: readonly number[],
    state: Row,
    base: number,
    now: number,
    units: number,
    charge: Charge,
    of?: number,
  ): number;
}

export const slidingWindowCounter: RingAlgorithm = {
  numbers: (policy, limit) => [
    limit,
    policy.windowMs / policy.buckets,
    policy.buckets,
    EDGES.indexOf(policy.edge),
    policy.rounding === 'down' ? 1 : 0,
    ownLimit(policy),
    policy.countDenied ? 1 : 0,
  ],

  width: (numbers) => EDGE + numbers[2],

  decide(numbers, state, base, now, cost, out, of = numbers[2]) {
    const limit = numbers[0];
    const bucket = numbers[1];
    const countDenied = numbers[6];

    const at = load(numbers, state, base, of, now, out);
    const s = out[NEXT];
    const e = at - s * bucket;
    const total = out[NEXT + 2];
    const old = out[NEXT + EDGE];
    const part = old === 0 ? 0 : partOf(numbers, old, e);

    const fits = cost <= limit - total - part || cost === 0;
    let used = total;
    let writes = NOTHING;
    if (cost > 0 && countDenied === 1 && cost <= limit) {
      used = Math.min(total + cost, MOST);
      writes = ALWAYS;
    } else if (cost > 0 && fits) {
      used = total + cost;
      writes = IF_ADMITTED;
    } else if (
      state[base + 1] > 0 &&
      (state[base + 1] !== bucket || of !== numbers[2]) &&
      cost > 0 &&
      cost <= limit
    ) {
      // Or else each later request would find it all in its own bucket again, and wait for ever.
      writes = ALWAYS;
    }
    out[NEXT + 2] = used;
    report(
      out,
      limit - used - part,
      fits ? 0 : cost > limit ? NEVER : wait(numbers, out, at, cost),
      // If the current bucket counts, it is the newest. As new is a key that the whole limit fits.
      used > total && numbers[4] === 0
        ? (s + numbers[2] + (numbers[3] === DROP ? 0 : 1)) * bucket - at
        : wait(numbers, out, at, limit),
      at,
      writes,
    );
  },

  refund(numbers, state, base, _now, units, charge, buckets = numbers[2]) {
    const bucket = state[base + 1];
    if (bucket === 0) return 0;
    const age = state[base] - Math.floor(charge.at / bucket);
    if (age < 0 || age > buckets) return 0;
    const place = base + placeOf(age, buckets);
    const count = age === 0 ? current(state, base, buckets) : state[place];
    const taken = Math.max(Math.min(units, count), Math.max(count, state[base + 2]) - MOST);
    if (age > 0) state[place] -= taken;
    if (age < buckets) state[base + 2] -= taken;
    return 0;
  },
};

/**
 * Brings the state, which is of so many buckets, up to now in out[NEXT…], in the buckets of this policy; returns the
 * instant that stands for now.
 */
function load(
  numbers: readonly number[],
  state: Row,
  base: number,
  of: number,
  now: number,
  out: Row,
): number {
  const bucket = numbers[1];
  const buckets = numbers[2];
  const stored = state[base + 1];
  let used = 0;
  let at = now;
  if (stored > 0) {
    const start = state[base] * stored;
    at = Math.max(now, start);
    // Most requests come in the bucket of the one before, and dividing takes long.
    const s = at - start < stored ? state[base] : Math.floor(at / stored);
    if (stored === bucket && of === buckets) {
      advance(state, base, buckets, s, out);
      return at;
    }
    // Written in other buckets: what was used stays used, all of it in the current bucket of the new kind; at most what
    // the policy holds, whatever this request's limit is, because it is stored for all.
    used = Math.min(numbers[5], usedAt(numbers, state, base, of, s, at));
  }
  out[NEXT] = Math.floor(at / bucket);
  out[NEXT + 1] = bucket;
  out[NEXT + 2] = used;
  for (let i = 0; i < buckets; i++) out[NEXT + EDGE + i] = 0;
  return at;
}

/** What counts at an instant in bucket `s` of a state of so many buckets, whatever their length. */
function usedAt(
  numbers: readonly number[],
  state: Row,
  base: number,
  of: number,
  s: number,
  at: number,
): number {
  const bucket = state[base + 1];
  const moved = new Float64Array(NEXT + EDGE + of);
  advance(state, base, of, s, moved);
  const then = [0, bucket, of, numbers[3], numbers[4]];
  return moved[NEXT + 2] + partOf(then, moved[NEXT + EDGE], at - s * bucket);
}

/** Where the count of bucket s - age stands in a state, for 1 <= age <= buckets. */
function placeOf(age: number, buckets: number): number {
  return age === buckets ? EDGE : EDGE + age;
}

/** Copies the state to out[NEXT…] with bucket `s` as its current one. */
function advance(state: Row, base: number, buckets: number, s: number, out: Row): void {
  const steps = s - state[base];
  out[NEXT] = s;
  out[NEXT + 1] = state[base + 1];
  if (steps === 0) {
    for (let i = 2; i < EDGE + buckets; i++) out[NEXT + i] = state[base + i];
    return;
  }
  let total = 0;
  for (let age = 1; age <= buckets; age++) {
    let count = 0;
    if (age === steps) count = current(state, base, buckets);
    else if (age > steps) count = state[base + placeOf(age - steps, buckets)];
    out[NEXT + placeOf(age, buckets)] = count;
    if (age < buckets) total += count;
  }
  out[NEXT + 2] = total;
}

/** The current bucket's own count. */
function current(state: Row, base: number, buckets: number): number {
  let count = state[base + 2];
  for (let age = 1; age < buckets; age++) count -= state[base + EDGE + age];
  return count;
}

/** What of the edge bucket's `old` counts, `e` ms into the current bucket. */
function partOf(numbers: readonly number[], old: number, e: number): number {
  const bucket = numbers[1];
  if (old === 0 || numbers[3] === DROP) return 0;
  if (numbers[3] === KEEP) return old;
  return numbers[4] === 1 ? floorMulDiv(old, bucket - e, bucket) : ceilMulDiv(old, bucket - e, bucket);
}

/** Walks forward, bucket by bucket, to the first instant at which `cost` fits. */
function wait(numbers: readonly number[], out: Row, at: number, cost: number): number {
  const bucket = numbers[1];
  const buckets = numbers[2];
  const edge = numbers[3];
  const s = out[NEXT];
  let begin = at - s * bucket;
  let leaves = out[NEXT + EDGE];
  let full = out[NEXT + 2];
  for (let j = 0; j <= buckets + 1; j++) {
    if (j > 0) {
      begin = 0;
      leaves = j < buckets ? out[NEXT + placeOf(buckets - j, buckets)] : full;
      full -= leaves;
    }
    const room = numbers[0] - cost - full;
    // The first ms of this bucket at which what is at the edge leaves that room; none if not below the bucket's length.
    let offset = begin;
    if (room < 0 || (leaves > room && edge === KEEP)) {
      offset = bucket;
    } else if (leaves > room && edge !== DROP) {
      const fit =
        numbers[4] === 1 ? ceilMulDiv(room + 1, bucket, leaves) - 1 : floorMulDiv(room, bucket, leaves);
      offset = Math.max(begin, bucket - fit);
    }
    if (offset < bucket) return (s + j) * bucket + offset - at;
  }
  return NEVER;
}
