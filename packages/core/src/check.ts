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

/** Throws if `given` has a key that is not among `known`. */
export function refuseUnknown(
  given: object,
  known: readonly string[],
  of: string,
  code: ErrorCode,
  path = '',
): void {
  for (const key of Object.keys(given)) {
    if (!known.includes(key) && (given as Record<string, unknown>)[key] !== undefined) {
      const meant = likelyOption(key, known);
      const hint = meant === undefined ? '' : `: did you mean \`${path}${meant}\`?`;
      throw new ArgumentError(
        code,
        `Expected the options of ${of} to be among ${known.join(', ')}, got \`${path}${key}\`${hint || '.'}`,
      );
    }
  }
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
