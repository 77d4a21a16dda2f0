/**
 * Values that may be yet to come, handled without a wait where they are here already.
 *
 * @module
 */

import { show } from '../errors.js';

/** A value, or a promise of it. */
export type Awaitable<T> = T | PromiseLike<T>;

/** `next(value)`, at once unless the value is yet to come. */
export function then<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  return isThenable(value) ? Promise.resolve(value).then(next) : next(value);
}

/** Whether it is yet to come. */
export function isThenable<T>(value: Awaitable<T>): value is PromiseLike<T> {
  return typeof (value as PromiseLike<T> | null | undefined)?.then === 'function';
}

/**
 * Returns `work`, but that it throws and rejects with nothing but errors: frameworks take other values for the wish to
 * go on, and a request that goes on is not limited.
 */
export function withErrors<Work>(work: Work): Work {
  const fail = (thrown: unknown): never => {
    if (typeof thrown === 'object' && thrown !== null) throw thrown;
    throw new Error(`A function among the options of rateLimit threw ${show(thrown)}, which is no error.`);
  };
  // No more than frameworks hand a function, and one by one: a list of them would be made for each request.
  const safe = (a: unknown, b: unknown, c: unknown, d: unknown) => {
    try {
      const result = (work as (...args: unknown[]) => unknown)(a, b, c, d);
      return isThenable(result) ? Promise.resolve(result).catch(fail) : result;
    } catch (thrown) {
      return fail(thrown);
    }
  };
  return safe as Work;
}
