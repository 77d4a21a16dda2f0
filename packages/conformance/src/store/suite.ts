/**
 * What the topics of the store suite share: a store to test, and limiters on it.
 *
 * @module
 */

import {
  createLimiter,
  type Decision,
  type Limiter,
  type ManualClock,
  manualClock,
  type Policy,
  type Store,
} from '@sluice/core';

/** What a store can do beyond what every store must. */
export interface Supports {
  /** Two store objects made by the factory see one state, as two processes would. */
  readonly shared: boolean;
  /**
   * A denial that is remembered says of the policies that admit what remained when it was made, which may be less than
   * what remains by now. Default `false`.
   */
  readonly remembersDenials?: boolean;
}

export interface StoreSuiteOptions {
  /** Which store it is: the title of the suite. */
  readonly name: string;
  /** Makes a store object; where state is shared, all of them share it. */
  makeStore(): Store;
  readonly supports: Supports;
}

/** A limiter under test, on a clock that only moves when told. */
export interface Bench {
  readonly limiter: Limiter;
  readonly clock: ManualClock;
  readonly store: Store;
  /** The decisions of so many requests of one key, one after the other. */
  times(count: number, key?: string): Promise<Decision[]>;
}

export class Suite {
  readonly name: string;
  readonly supports: Supports;
  readonly makeStore: () => Store;
  #limiters = 0;

  constructor(options: StoreSuiteOptions) {
    this.name = options.name;
    this.supports = options.supports;
    this.makeStore = () => options.makeStore();
  }

  /** Opens a limiter of its own name on a store object of its own, so that tests never meet. */
  open(policies: Policy | readonly Policy[], at = 0): Bench {
    const clock = manualClock(at);
    const store = this.makeStore();
    const list = Array.isArray(policies) ? (policies as readonly Policy[]) : [policies as Policy];
    const limiter = createLimiter({
      name: this.newName(),
      policies: list,
      store,
      clock,
      // A store that fails must not be stood in for.
      onStoreError: 'throw',
    });
    const times = async (count: number, key = 'key') => {
      const decisions: Decision[] = [];
      for (let i = 0; i < count; i++) decisions.push(await limiter.consume(key));
      return decisions;
    };
    return { limiter, clock, store, times };
  }

  newName(): string {
    this.#limiters += 1;
    return `t${this.#limiters}`;
  }
}

/** How many of the decisions are allowed. */
export function allowed(decisions: readonly Decision[]): number {
  return decisions.filter((decision) => decision.allowed).length;
}
