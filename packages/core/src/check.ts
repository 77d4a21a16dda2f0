/**
 * Checks that more than one place needs.
 *
 * @module
 */

import { ArgumentError, type ErrorCode, expected, show } from './errors.js';
import { likelyOption } from './likely-option.js';

/** Returns `value` if it can stand in keys and headers: printable ASCII without `:{}"\`. */
export function parseName(value: unknown, name: string, code: ErrorCode): string {
  if (typeof value !== 'string' || !/^[ !#-9;-[\]-z|~]{1,128}$/.test(value)) {
    throw expected(code, name, 'printable ASCII without `:{}"\\`, at most 128 characters', value);
  }
  return value;
}

/**
 * Throws unless `value` is an object, and no list.
 *
 * @param what - what it was expected to be.
 */
export function checkObject(
  value: unknown,
  name: string,
  what: string,
  code: ErrorCode,
): asserts value is object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw expected(code, name, what, value);
  }
}

/** Throws if `given` has keys that are not among `known`. */
export function refuseUnknown(
  given: object,
  known: readonly string[],
  of: string,
  code: ErrorCode,
  path = '',
): void {
  // All of them, as whoever comes from another limiter has many.
  const unknown = Object.entries(given).filter(([key, value]) => value !== undefined && !known.includes(key));
  if (unknown.length === 0) return;
  const got = unknown.map(([key]) => {
    const meant = likelyOption(key, known);
    return `\`${path}${key}\`${meant === undefined ? '' : ` (did you mean \`${path}${meant}\`?)`}`;
  });
  const message = `Expected no option that ${of} does not have, got ${got.join(', ')}. It has ${known.join(', ')}.`;
  throw new ArgumentError(code, message);
}

/** Returns `value` if it is one of `values`. */
export function oneOf<T>(values: readonly T[], value: unknown, name: string, code: ErrorCode): T {
  if (!values.includes(value as T)) {
    throw expected(code, name, `one of ${values.map(show).join(', ')}`, value);
  }
  return value as T;
}

/** Returns `value` if it is a number of units: an integer from 0 to 2^53 - 1. */
export function parseUnits(value: unknown, name: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0) {
    throw expected('ERR_SLUICE_ARGUMENT', name, 'an integer from 0 to 2^53 - 1', value);
  }
  return (value as number) + 0;
}

/** Whether `value` is an object as `{}` makes them: no array, no `Map`, no `Date`. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
