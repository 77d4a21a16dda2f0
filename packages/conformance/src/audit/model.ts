/**
 * What an audit must find, worked out from the definitions by going through everything that ever came, in whole numbers
 * without a bound. It shares no line with the product.
 *
 * @module
 */

import type { ParsedPolicy, PolicyAudit } from '@sluice/core';

/** A request, and what the limiter said. */
export interface Request {
  readonly key: string;
  /** What the clock said. */
  readonly clock: number;
  readonly cost: number;
  readonly allowed: boolean;
  /** Per policy. */
  readonly policies: readonly { readonly limit: number; readonly allowed: boolean }[];
}

interface Unit {
  readonly at: number;
  readonly cost: number;
}

/** Per key. */
class Past {
  readonly exact: Unit[] = [];
  readonly admitted: Unit[] = [];
  readonly arrived: Unit[] = [];
  /** As the buckets of the policy book it: a clock that steps back stands at the beginning of their newest. */
  readonly counted: Unit[] = [];
  readonly booked: Unit[] = [];
}

const sum = (units: readonly Unit[]) => units.reduce((total, { cost }) => total + BigInt(cost), 0n);
const newest = (units: readonly Unit[]) => Math.max(0, ...units.map(({ at }) => at));

/** Returns what the audit of the policy in `place` must say, but for the keys it counts and what it cannot explain. */
export function auditOf(
  policy: ParsedPolicy,
  place: number,
  requests: readonly Request[],
): Omit<PolicyAudit, 'keys' | 'unexplained'> {
  const { windowMs, countDenied } = policy;
  const pasts = new Map<string, Past>();
  const counts = { decisions: 0, exactDenies: 0 };
  const independent = { falseAllows: 0, falseDenies: 0 };
  const sameHistory = { falseAllows: 0, falseDenies: 0 };
  let worstBurst = 0;

  for (const { key, clock, cost, allowed, policies } of requests) {
    const { limit, allowed: ownAllowed } = policies[place];
    if (cost === 0 || limit === Infinity) continue;
    const past = pasts.get(key) ?? new Past();
    pasts.set(key, past);
    // What the limiter took for now.
    const now = Math.max(clock, beginningOf(policy, newest(past.booked)));
    const room = (units: readonly Unit[], at: number) =>
      BigInt(limit) - sum(units.filter((unit) => unit.at > at - windowMs && unit.at <= at));
    const logAt = (units: readonly Unit[]) => Math.max(now, newest(units));

    const others = policies.every((other, i) => i === place || other.allowed);
    const arrivedFits = BigInt(cost) <= room(past.arrived, logAt(past.arrived));
    const countingAt = Math.max(now, beginningOf(policy, newest(past.counted)));
    const countingFits = estimateFits(policy, limit, past.counted, countingAt, cost);
    let exactFits = BigInt(cost) <= room(past.exact, logAt(past.exact));
    if (countDenied) exactFits = arrivedFits;

    if (others) {
      counts.decisions += 1;
      if (!exactFits) counts.exactDenies += 1;
      if (ownAllowed && !exactFits) independent.falseAllows += 1;
      if (!ownAllowed && exactFits) independent.falseDenies += 1;
      if (countingFits && !arrivedFits) sameHistory.falseAllows += 1;
      if (!countingFits && arrivedFits) sameHistory.falseDenies += 1;
    }

    if (exactFits && others) past.exact.push({ at: logAt(past.exact), cost });
    if (cost <= limit) {
      past.arrived.push({ at: logAt(past.arrived), cost });
      past.counted.push({ at: countingAt, cost });
    }
    if (allowed || (countDenied && cost <= limit)) past.booked.push({ at: now, cost });
    if (allowed) {
      const at = logAt(past.admitted);
      past.admitted.push({ at, cost });
      const units = sum(past.admitted.filter((unit) => unit.at > at - windowMs));
      worstBurst = Math.max(worstBurst, Number(units) / limit);
    }
  }
  return { ...counts, independent, sameHistory, worstBurst };
}

/** A fixed window is one bucket with nothing at its edge. */
function ringOf({ algorithm, windowMs, buckets, edge }: ParsedPolicy) {
  return algorithm === 'fixed-window'
    ? { bucket: windowMs, buckets: 1, edge: 'drop' }
    : { bucket: windowMs / buckets, buckets, edge };
}

function beginningOf(policy: ParsedPolicy, at: number): number {
  return at - (at % ringOf(policy).bucket);
}

/** `old (b - e) + (full + n) b <= L b`, and rounding down `old (b - e) < (L - n + 1 - full) b`. */
function estimateFits(
  policy: ParsedPolicy,
  limit: number,
  units: readonly Unit[],
  at: number,
  cost: number,
): boolean {
  const { bucket, buckets, edge } = ringOf(policy);
  const number = (instant: number) => Math.floor(instant / bucket);
  const s = number(at);
  const full = sum(units.filter((unit) => number(unit.at) > s - buckets && number(unit.at) <= s));
  const old = sum(units.filter((unit) => number(unit.at) === s - buckets));
  const b = BigInt(bucket);
  const left = BigInt(limit) - BigInt(cost) - full;
  if (edge === 'drop') return left >= 0n;
  if (edge === 'keep') return old <= left;
  const part = old * (b - BigInt(at - s * bucket));
  return policy.rounding === 'down' ? part < (left + 1n) * b : part <= left * b;
}
