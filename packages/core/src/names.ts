/**
 * Which names limiters have taken.
 *
 * @module
 */

import { ArgumentError } from './errors.js';
import { perProcess } from './per-process.js';
import type { Store } from './types.js';

/** The names in use, per place where state lives. */
const taken = () => perProcess('names', () => new WeakMap<object, Set<string>>());

/**
 * Returns the names in use on the store; `name` is not among them, and is to be added when its limiter is made.
 *
 * @throws ArgumentError if it is.
 */
export function namesOn(store: Store, name: string): Set<string> {
  const names = taken().get(placeOf(store)) ?? new Set();
  if (names.has(name)) {
    throw new ArgumentError(
      'ERR_SLUICE_NAME_TAKEN',
      `Expected \`name\` to be new to this store, got ${JSON.stringify(name)}: two limiters of one name would eat each other's quota, also on two stores of one Redis client. Give each its own name.`,
    );
  }
  taken().set(placeOf(store), names);
  return names;
}

/** Frees the name. */
export function freeName(store: Store, name: string): void {
  taken().get(placeOf(store))?.delete(name);
}

function placeOf(store: Store): object {
  return store.place ?? store;
}
