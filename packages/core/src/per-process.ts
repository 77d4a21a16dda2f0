/**
 * State that a process has once, although it may have loaded Sluice more than once.
 *
 * @module
 */

/** Registered, so that all copies find the same. */
const HOME: unique symbol = Symbol.for('sluice');

/**
 * Returns what `make` made when the first copy of the package asked for `name`: one that is imported and one that is
 * required are two copies, and so are two versions. A new shape of the state needs a new name.
 *
 * To be called when there is something to do, since an import has no side effects.
 */
export function perProcess<T extends object>(name: string, make: () => T): T {
  const process = globalThis as { [HOME]?: Record<string, object> };
  if (process[HOME] === undefined) {
    Object.defineProperty(process, HOME, { value: Object.create(null), configurable: true });
  }
  const state = process[HOME]!;
  state[name] ??= make();
  return state[name] as T;
}
