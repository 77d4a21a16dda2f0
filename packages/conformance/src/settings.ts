/**
 * Every algorithm in every setting, for tests that hold for all of them.
 *
 * @module
 */

import type { Policy } from '@sluice/core';

/** An algorithm with its settings; the numbers are still open. */
export interface Setting {
  readonly title: string;
  /** The window must be a multiple of 4 ms. `limit` is the capacity too. */
  policy(limit: number, window: number): Policy;
}

/** One setting per algorithm: its default. */
export const algorithms: readonly Setting[] = [
  { title: 'fixed-window', policy: (limit, window) => ({ algorithm: 'fixed-window', limit, window }) },
  {
    title: 'sliding-window-log',
    policy: (limit, window) => ({ algorithm: 'sliding-window-log', limit, window }),
  },
  {
    title: 'sliding-window-counter',
    policy: (limit, window) => ({ algorithm: 'sliding-window-counter', limit, window }),
  },
  { title: 'token-bucket', policy: (limit, window) => ({ algorithm: 'token-bucket', limit, window }) },
  { title: 'gcra', policy: (limit, window) => ({ algorithm: 'gcra', limit, window }) },
  { title: 'leaky-bucket', policy: (limit, window) => ({ algorithm: 'leaky-bucket', limit, window }) },
];

/** The sliding-window counter in every combination of its settings, on one bucket and on four. */
const counters: readonly Setting[] = ([1, 4] as const).flatMap((buckets) =>
  (['weighted', 'drop', 'keep'] as const).flatMap((edge) =>
    (['none', 'down'] as const).map((rounding) => ({
      title: `sliding-window-counter, ${buckets} bucket${buckets > 1 ? 's' : ''}, edge ${edge}, rounding ${rounding}`,
      policy: (limit: number, window: number): Policy => ({
        algorithm: 'sliding-window-counter',
        limit,
        window,
        buckets,
        edge,
        rounding,
      }),
    })),
  ),
);

/** The buckets with a capacity that is not the rate. */
const bursts: readonly Setting[] = [
  {
    title: 'token-bucket with a burst',
    policy: (limit, window) => ({ algorithm: 'token-bucket', limit: 3, window, burst: limit }),
  },
  {
    title: 'gcra with a burst',
    policy: (limit, window) => ({ algorithm: 'gcra', limit: 3, window, burst: limit }),
  },
  {
    title: 'leaky-bucket with a capacity',
    policy: (limit, window) => ({ algorithm: 'leaky-bucket', limit: 3, window, capacity: limit }),
  },
];

/** All of them. */
export const settings: readonly Setting[] = [...algorithms, ...counters, ...bursts];

/** The most that one request of the policy could ever take. */
export function capacityOf(policy: Policy): number {
  if (policy.limit === 0 || policy.limit === Infinity) return policy.limit;
  if ('burst' in policy && policy.burst !== undefined) return policy.burst;
  if ('capacity' in policy && policy.capacity !== undefined) return policy.capacity;
  return policy.limit;
}
