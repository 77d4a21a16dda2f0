/**
 * Spans of time: the only place where text becomes milliseconds.
 *
 * @module
 */

import type { ErrorCode } from './errors.js';
import { expected } from './errors.js';

const UNITS: ReadonlyMap<string, number> = new Map([
  ['ms', 1],
  ['s', 1000],
  ['m', 60_000],
  ['h', 3_600_000],
  ['d', 86_400_000],
  ['w', 604_800_000],
]);

/** The longest span accepted, so that an instant plus two spans is still a safe integer. About 31,000 years. */
export const LONGEST = 1e15;

const WHAT =
  "a duration: whole milliseconds from 1 to 1e15, or text such as '500ms', '10s', '1m', '1h', '1d', '1w'";

/**
 * Returns `value` in whole milliseconds.
 *
 * @param name - what the error message calls it.
 * @throws ArgumentError unless it is an integer of at least 1 ms, or text such as `'10s'`.
 */
export function parseDuration(value: unknown, name: string, code: ErrorCode): number {
  const ms = msOf(value);
  if (ms === undefined) throw expected(code, name, WHAT, value);
  return ms;
}

/**
 * Returns `value` in whole milliseconds, or `Infinity` if it is that.
 *
 * @throws ArgumentError unless it is a duration or `Infinity`.
 */
export function parseEndlessDuration(value: unknown, name: string, code: ErrorCode): number {
  const ms = value === Infinity ? value : msOf(value);
  if (ms === undefined) throw expected(code, name, `${WHAT}; or Infinity`, value);
  return ms;
}

function msOf(value: unknown): number | undefined {
  const ms = typeof value === 'string' ? fromText(value) : value;
  return Number.isInteger(ms) && (ms as number) >= 1 && (ms as number) <= LONGEST
    ? (ms as number)
    : undefined;
}

function fromText(text: string): number {
  const [, count, unit] = /^(\d{1,16})(ms|[smhdw])$/.exec(text) ?? [];
  return Number(count) * (UNITS.get(unit as string) as number);
}
