/**
 * Random policies and traces.
 *
 * @module
 */

import type { AlgorithmName } from '@sluice/core';
import fc from 'fast-check';
import type { PlainPolicy } from './reference.js';

export const algorithmNames: readonly AlgorithmName[] = [
  'fixed-window',
  'sliding-window-log',
  'sliding-window-counter',
  'token-bucket',
  'gcra',
  'leaky-bucket',
];

const MOST = Number.MAX_SAFE_INTEGER;

/** Small where edges are near, ordinary, and as large as can be. */
const limits = (algorithm: AlgorithmName): fc.Arbitrary<number> =>
  fc.oneof(
    { arbitrary: fc.integer({ min: 1, max: 12 }), weight: 6 },
    { arbitrary: fc.integer({ min: 13, max: 4000 }), weight: 2 },
    // What gcra holds exactly is bounded.
    { arbitrary: algorithm === 'gcra' ? fc.constant(4300) : fc.integer({ min: 1e9, max: MOST }), weight: 1 },
  );

const windows: fc.Arbitrary<number> = fc.oneof(
  { arbitrary: fc.integer({ min: 1, max: 40 }), weight: 4 },
  { arbitrary: fc.constantFrom(1000, 60_000, 997), weight: 3 },
  { arbitrary: fc.constantFrom(86_400_000, 2_592_000_000), weight: 1 },
);

const counterSettings = fc.record({
  buckets: fc.constantFrom(1, 1, 2, 3, 5, 12),
  edge: fc.constantFrom('weighted' as const, 'drop' as const, 'keep' as const),
  rounding: fc.constantFrom('none' as const, 'down' as const),
});

const capacities = fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined });

/** A policy of the algorithm with a limit of at least 1. */
export function policyOf(algorithm: AlgorithmName, countDenied = false): fc.Arbitrary<PlainPolicy> {
  return fc
    .tuple(limits(algorithm), windows, counterSettings, capacities, fc.boolean())
    .map(([limit, window, settings, capacity, denied]): PlainPolicy => {
      const counts = countDenied && denied ? { countDenied: true } : {};
      switch (algorithm) {
        case 'fixed-window':
          return { algorithm, limit, window, ...counts };
        case 'sliding-window-log':
          return { algorithm, limit, window };
        case 'sliding-window-counter':
          return { algorithm, limit, window: window * settings.buckets, ...settings, ...counts };
        case 'leaky-bucket':
          return capacity === undefined
            ? { algorithm, limit, window }
            : { algorithm, limit, window, capacity };
        default:
          return capacity === undefined
            ? { algorithm, limit, window }
            : { algorithm, limit, window, burst: capacity };
      }
    });
}

/** A policy of any algorithm. */
export const anyPolicy: fc.Arbitrary<PlainPolicy> = fc
  .constantFrom(...algorithmNames)
  .chain((algorithm) => policyOf(algorithm));

/** How long until the next step, in proportion to the window: at once, within it, on its edges, beyond it. */
export function gapOf(window: number): fc.Arbitrary<number> {
  return fc.oneof(
    { arbitrary: fc.constant(0), weight: 3 },
    { arbitrary: fc.integer({ min: 1, max: 3 }), weight: 2 },
    { arbitrary: fc.integer({ min: 0, max: window }), weight: 3 },
    { arbitrary: fc.constantFrom(window - 1, window, window + 1), weight: 1 },
    { arbitrary: fc.integer({ min: 0, max: 3 * window }), weight: 1 },
  );
}

/** A cost: mostly 1, and up to a little more than what could ever fit. */
export function costOf(capacity: number): fc.Arbitrary<number> {
  return fc.oneof(
    { arbitrary: fc.constant(1), weight: 5 },
    { arbitrary: fc.integer({ min: 0, max: 4 }), weight: 2 },
    { arbitrary: fc.integer({ min: 0, max: Math.min(MOST, capacity + 2) }), weight: 2 },
  );
}

/** Where a trace begins: at the epoch, today, or on no round number at all. */
export const beginnings: fc.Arbitrary<number> = fc.constantFrom(0, 1_764_547_200_000, 1_700_000_000_123);
