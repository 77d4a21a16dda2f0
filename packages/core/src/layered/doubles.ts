/**
 * What tests of layered stores stand on.
 *
 * @module
 */

import { MemoryStore, type Store, StoreError, type Table, type Transport } from '../index.js';

/** Memory that answers later, as a shared store does, and counts what it is asked. */
export class Shared implements Store<true> {
  readonly async = true;
  asked = 0;
  /** All that it was told, such as `decide 1`. */
  readonly log: string[];
  /** Set to fail what begins so; `late` after it was done. */
  failing: string | undefined;
  late = false;
  readonly #tables: Map<string, Table<false>>;

  /** @param of - that of another process, which shares what is stored. */
  constructor(of?: Shared) {
    this.log = of?.log ?? [];
    this.#tables = of === undefined ? new Map() : of.#tables;
  }

  open(...args: Parameters<Store['open']>): Table<true> {
    const [name] = args;
    const table = this.#tables.get(name) ?? new MemoryStore().open(...args);
    this.#tables.set(name, table);
    const run = async <T>(what: string, work: () => T): Promise<T> => {
      this.log.push(what);
      const fails = this.failing !== undefined && what.startsWith(this.failing);
      const error = () =>
        new StoreError('ERR_SLUICE_STORE_TIMEOUT', 'Late.', this.late ? 'unknown' : 'not-run');
      if (fails && !this.late) throw error();
      const answer = work();
      if (fails) throw error();
      return answer;
    };
    return {
      // As long as memory says, which is longer than a decision needs.
      decide: (id, cost, ...rest) => {
        this.asked += 1;
        return run(`decide ${cost}`, () => Array.from(table.decide(id, cost, ...rest)));
      },
      charge: (id, units, ...rest) =>
        run(`charge ${units}`, () => Array.from(table.charge(id, units, ...rest))),
      correct: (id, units, ...rest) => run(`correct ${units}`, () => table.correct(id, units, ...rest)),
      reset: (...rest) => run('reset', () => table.reset(...rest)),
      reserve: (id, cost, ...rest) =>
        run(`reserve ${cost}`, () => Array.from(table.reserve?.(id, cost, ...rest) ?? [])),
      block: async (...rest) => table.block?.(...rest),
      unblock: async (...rest) => table.unblock?.(...rest),
      close: () => table.close(),
    };
  }
}

/** Says what it is told to say. */
export class Wire implements Transport {
  readonly sent: string[] = [];
  failure: Error | undefined;
  #listener: ((message: string) => void) | undefined;

  publish(message: string): void {
    if (this.failure !== undefined) throw this.failure;
    this.sent.push(message);
  }
  subscribe(listener: (message: string) => void): () => void {
    this.#listener = listener;
    return () => {
      this.#listener = undefined;
    };
  }
  get listens(): boolean {
    return this.#listener !== undefined;
  }
  say(message: string): void {
    this.#listener?.(message);
  }
}

/** Moves the clock that denials are timed by, from one whole millisecond to another: fractions do not add up exactly. */
export function passMs(ms: number): void {
  const now = Math.ceil(performance.now()) + ms;
  jest.spyOn(performance, 'now').mockReturnValue(now);
}
