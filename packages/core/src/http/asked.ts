/**
 * What functions among the options answered, checked: what is neither yes nor no must not take the limit off.
 *
 * @module
 */

import { expected } from '../errors.js';
import { parseLimit } from '../policy.js';

/** Returns whether `skip` said so; throws an ArgumentError if it said neither yes nor no. */
export function isSkipped(value: unknown): boolean {
  if (typeof value === 'boolean' || value === undefined || value === null) return value === true;
  throw expected('ERR_SLUICE_ARGUMENT', 'skip', 'a function that returns true or false', value);
}

/**
 * Returns what `key` said, or `undefined` where it named nobody: an empty text is what frameworks make of a header that
 * was not sent. Throws an ArgumentError if it is no text.
 */
export function keyFrom(value: unknown): string | undefined {
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw expected('ERR_SLUICE_ARGUMENT', 'key', 'a string, undefined or null', value);
}

/**
 * Throws an ArgumentError if a limit is none. Nothing would mean that the limiter's own limits stand; what a name may
 * stand for is the limiter's to check.
 */
export function checkLimit(limit: unknown): void {
  if (typeof limit !== 'object' || limit === null) parseLimit(limit, 'limit', 'ERR_SLUICE_ARGUMENT');
}

/** Throws an ArgumentError if a cost is no number; which numbers it may be is the limiter's to check. */
export function checkCost(cost: unknown): void {
  if (typeof cost !== 'number')
    throw expected('ERR_SLUICE_ARGUMENT', 'cost', 'an integer from 0 to 2^53 - 1', cost);
}
