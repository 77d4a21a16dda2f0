/**
 * How far above its limit a policy was used, by its definition.
 *
 * @module
 */

import type { Policy } from '@sluice/core';

/** Units that were admitted. */
export interface Admission {
  readonly at: number;
  readonly units: number;
}

export type SimulatedPolicy = Policy & { readonly window: number };

/** Returns the most units by which what the policy counts was above what it holds, at any admission; negative if never. */
export function excessOf(policy: SimulatedPolicy, admissions: readonly Admission[]): number {
  const sorted = [...admissions].sort((a, b) => a.at - b.at);
  const used = meterOf(policy);
  const most = (policy as { burst?: number }).burst ?? policy.limit;
  return Math.ceil(Math.max(...sorted.map(({ at, units }) => used(at, units) - most), -most) - 1e-6);
}

/** Returns what adds units at an instant, and tells how much is in use then. */
function meterOf(policy: SimulatedPolicy): (at: number, units: number) => number {
  switch (policy.algorithm) {
    case 'fixed-window':
      return counter(policy.window, 1, 0);
    case 'sliding-window-log':
      return log(policy.window);
    case 'token-bucket':
    case 'gcra':
      return bucket(policy.limit / policy.window);
    case undefined:
    case 'sliding-window-counter': {
      const { window, buckets = 1, edge = 'weighted' } = policy;
      return counter(window / buckets, buckets, { weighted: 1, drop: 0, keep: Infinity }[edge]);
    }
    default:
      throw new Error(`Nobody knows how to measure ${policy.algorithm}.`);
  }
}

/** @param edge - 0: the bucket at the edge does not count; 1: by its part in the window; Infinity: in full. */
function counter(length: number, buckets: number, edge: number): (at: number, units: number) => number {
  const counts = new Map<number, number>();
  const countOf = (number: number) => counts.get(number) ?? 0;
  return (at, units) => {
    const number = Math.floor(at / length);
    counts.set(number, countOf(number) + units);
    let full = 0;
    for (let i = 0; i < buckets; i++) full += countOf(number - i);
    const part = Math.min(1, edge * ((length - (at % length)) / length));
    return full + countOf(number - buckets) * part;
  };
}

function log(window: number): (at: number, units: number) => number {
  const entries: Admission[] = [];
  let first = 0;
  let sum = 0;
  return (at, units) => {
    entries.push({ at, units });
    sum += units;
    for (; entries[first].at <= at - window; first++) sum -= entries[first].units;
    return sum;
  };
}

function bucket(perMs: number): (at: number, units: number) => number {
  let debt = 0;
  let last = 0;
  return (at, units) => {
    debt = Math.max(0, debt - (at - last) * perMs) + units;
    last = at;
    return debt;
  };
}
