/**
 * Stores with a will of their own, for tests of what stands on them.
 *
 * @module
 */

import { type Answer, MemoryStore, type Store, StoreError, type Table } from '@sluice/core';

/** Memory behind a door: answers come later, and when the door is shut only once it is opened. */
export class SlowStore implements Store<true> {
  readonly async = true;
  readonly takesKinds = true;
  /** The ids that it was asked for. */
  readonly ids: string[] = [];
  readonly #memory = new MemoryStore();
  #door = Promise.resolve();
  #unlock = () => {};
  #knock = () => {};

  /** Lets no answer out until it is unlocked. */
  shut(): void {
    this.#door = new Promise((resolve) => {
      this.#unlock = resolve;
    });
  }

  unlock(): void {
    this.#unlock();
  }

  /** Fulfilled when it is asked next. */
  asked(): Promise<void> {
    return new Promise((resolve) => {
      this.#knock = resolve;
    });
  }

  open(...args: Parameters<Store['open']>): Table<true> {
    const table = this.#memory.open(...args);
    return {
      decide: async (...args) => {
        this.ids.push(args[0]);
        this.#knock();
        await this.#door;
        return Array.from(table.decide(...args));
      },
      charge: async (...args) => Array.from(table.charge(...args)),
      correct: async (...args) => table.correct(...args),
      reset: async (...args) => table.reset(...args),
      close: () => table.close(),
    };
  }
}

/** A store that cannot be reached while it is `down`. */
export class BrokenStore implements Store<true> {
  readonly async = true;
  readonly takesKinds = true;
  readonly error: StoreError = new StoreError('ERR_SLUICE_STORE_CONNECTION', 'It is down.', 'not-run');
  down = true;
  readonly #memory = new MemoryStore();

  open(...args: Parameters<Store['open']>): Table<true> {
    const table = this.#memory.open(...args);
    const guarded = async <T>(work: () => T): Promise<T> => {
      if (this.down) throw this.error;
      return work();
    };
    return {
      decide: (...args) => guarded<Answer>(() => Array.from(table.decide(...args))),
      charge: (...args) => guarded<Answer>(() => Array.from(table.charge(...args))),
      correct: (...args) => guarded(() => table.correct(...args)),
      reset: (...args) => guarded(() => table.reset(...args)),
      close: () => table.close(),
    };
  }
}
