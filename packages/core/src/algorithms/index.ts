/**
 * The algorithms that keep their state as numbers, by name. The log is apart: its state grows with use.
 *
 * @module
 */

import type { AlgorithmName, ParsedPolicy } from '../types.js';
import { fixedWindow } from './fixed-window.js';
import { gcra } from './gcra.js';
import { leakyBucket } from './leaky-bucket.js';
import type { Algorithm } from './outcome.js';
import { slidingWindowCounter } from './sliding-window-counter.js';
import { slidingWindowLog } from './sliding-window-log.js';
import { tokenBucket } from './token-bucket.js';

export const algorithms: Readonly<Record<Exclude<AlgorithmName, 'sliding-window-log'>, Algorithm>> = {
  'fixed-window': fixedWindow,
  'sliding-window-counter': slidingWindowCounter,
  'token-bucket': tokenBucket,
  gcra,
  'leaky-bucket': leakyBucket,
};

/** The names of all algorithms. */
export const algorithmNames = [...Object.keys(algorithms), 'sliding-window-log'] as readonly AlgorithmName[];

/** Returns the numbers that the policy's algorithm takes, in both languages, with `limit` for the policy's own. */
export function numbersOf(policy: ParsedPolicy, limit: number): readonly number[] {
  return policy.algorithm === 'sliding-window-log'
    ? slidingWindowLog.numbers(policy, limit)
    : algorithms[policy.algorithm].numbers(policy, limit);
}
