/**
 * A store behind a network, in simulated time.
 *
 * @module
 */

import { MemoryStore, type Store, StoreError, type Table } from '@sluice/core';
import type { Random } from '../parity/random.js';

/** How messages travel. */
export interface Weather {
  /** The longest that a message takes, in ms; each takes as long as is drawn. */
  readonly latencyMs: number;
  /** The share of messages that get lost, on either way. */
  readonly loss: number;
}

/** After so long without an answer, a message counts as lost. */
const TIMEOUT_MS = 250;

/** One shared store, and connections to it that keep the order of what is sent. */
export class Network {
  /** How many commands have reached the store. */
  arrived = 0;
  readonly #memory = new MemoryStore();
  readonly #tables = new Map<string, Table<false>>();
  readonly #weather: Weather;
  readonly #random: Random;

  constructor(weather: Weather, random: Random) {
    this.#weather = weather;
    this.#random = random;
  }

  /** The store as one process sees it, until that is `cut` off: then nothing that it sends arrives. */
  connect(): { readonly store: Store<true>; cut(): void } {
    const network = this;
    let alive = true;
    const store: Store<true> = {
      async: true,
      open(name, policies) {
        const known = network.#tables.get(name);
        const table = known ?? network.#memory.open(name, policies);
        network.#tables.set(name, table);
        let last = 0;
        const send = <T>(work: () => T): Promise<T> => {
          last = Math.max(last, Date.now() + network.#delay());
          return alive ? network.#carry(last, work) : new Promise(() => {});
        };
        return {
          decide: (...args) => send(() => Array.from(table.decide(...args))),
          charge: (...args) => send(() => Array.from(table.charge(...args))),
          correct: (...args) => send(() => table.correct(...args)),
          reset: (...args) => send(() => table.reset(...args)),
          close() {},
        };
      },
    };
    return {
      store,
      cut() {
        alive = false;
      },
    };
  }

  #delay(): number {
    return this.#random.whole(0, this.#weather.latencyMs);
  }

  #carry<T>(arrivesAt: number, work: () => T): Promise<T> {
    const [lost, unanswered] = [0, 0].map(() => this.#random.share() < this.#weather.loss);
    return new Promise((resolve, reject) => {
      const fail = () => reject(new StoreError('ERR_SLUICE_STORE_TIMEOUT', 'It got lost.', 'unknown'));
      setTimeout(() => {
        if (lost) {
          setTimeout(fail, TIMEOUT_MS);
          return;
        }
        this.arrived += 1;
        const answer = work();
        if (unanswered) setTimeout(fail, TIMEOUT_MS);
        else setTimeout(() => resolve(answer), this.#delay());
      }, arrivesAt - Date.now());
    });
  }
}
