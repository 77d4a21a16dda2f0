/**
 * A store behind a network, in simulated time.
 *
 * @module
 */

import {
  type Answer,
  MemoryStore,
  type Plan,
  type Store,
  StoreError,
  type Table,
  type Transport,
} from '@sluice/core';
import type { Random } from '../parity/random.js';

/** How messages travel, and what the store's clock does. */
export interface Weather {
  /** The longest that a message takes, in ms; each takes as long as is drawn. */
  readonly latencyMs: number;
  /** The share of messages that get lost, on either way. */
  readonly loss: number;
  /** The share of messages that arrive twice; none of those by which units are given back. */
  readonly twice: number;
  /** The steps of the store's clock: when, and by how many ms. */
  readonly steps: readonly { readonly atMs: number; readonly byMs: number }[];
}

/** After so long without an answer, a message counts as lost. */
const TIMEOUT_MS = 250;

const WIDTH = 5;
const RETRY = 1;
const AT = 3;

/** What one process has of the network. */
export interface Connection {
  readonly store: Store<true>;
  /** By which it talks to the other processes. */
  readonly transport: Transport;
  /** The instants at which the store admitted what this process hears of just now, for it to take. */
  readonly admitted: number[];
  /** From then on nothing that it sends arrives. */
  cut(): void;
}

/** One shared store, and connections to it that keep the order of what is sent. */
export class Network {
  /** How many commands have reached the store. */
  arrived = 0;
  readonly #memory = new MemoryStore();
  readonly #tables = new Map<string, Table<false>>();
  readonly #listeners = new Set<(message: string) => void>();
  readonly #weather: Weather;
  readonly #random: Random;
  readonly #begin: number;
  #newest = 0;

  constructor(weather: Weather, random: Random) {
    this.#weather = weather;
    this.#random = random;
    this.#begin = Date.now();
  }

  /** The instant that stands for now: what the store's clock says, or the newest that it has booked on. */
  get now(): number {
    return Math.max(this.#clock, this.#newest);
  }

  get #clock(): number {
    const passed = Date.now() - this.#begin;
    const due = this.#weather.steps.filter(({ atMs }) => atMs <= passed);
    return due.reduce((now, { byMs }) => now + byMs, Date.now());
  }

  /** The store as one process sees it. */
  connect(): Connection {
    const network = this;
    const admitted: number[] = [];
    let alive = true;
    const store: Store<true> = {
      async: true,
      open(name, policies) {
        const known = network.#tables.get(name);
        const table = known ?? network.#memory.open(name, policies);
        network.#tables.set(name, table);
        let last = 0;
        const send = <T>(work: () => T, twice = true, heard: (answer: T) => void = () => {}): Promise<T> => {
          last = Math.max(last, Date.now() + network.#delay());
          return alive ? network.#carry(last, work, twice, heard) : new Promise(() => {});
        };
        const answered = (answer: Answer) => {
          const numbers = Array.from(answer);
          network.#newest = Math.max(network.#newest, numbers[AT]);
          return numbers;
        };
        return {
          decide: (id, cost, plan, charge) =>
            send(
              () => answered(table.decide(id, cost, plan, charge, network.#clock)),
              true,
              (answer) => {
                if (charge && admits(answer, plan)) admitted.push(answer[AT]);
              },
            ),
          charge: (id, units, plan) => send(() => answered(table.charge(id, units, plan, network.#clock))),
          correct: (id, units, plan, charges) =>
            send(
              () => table.correct(id, units, plan, charges, network.#clock),
              units.every((count) => count <= 0),
            ),
          reset: (id) => send(() => table.reset(id)),
          close() {},
        };
      },
    };
    let own: ((message: string) => void) | undefined;
    const transport: Transport = {
      publish(message) {
        for (const listener of alive ? network.#listeners : []) {
          if (listener !== own) network.#deliver(() => listener(message));
        }
      },
      subscribe(listener) {
        own = (message) => alive && listener(message);
        network.#listeners.add(own);
        return () => void network.#listeners.delete(own as typeof listener);
      },
    };
    return {
      store,
      transport,
      admitted,
      cut() {
        alive = false;
      },
    };
  }

  #delay(): number {
    return this.#random.whole(0, this.#weather.latencyMs);
  }

  /** Messages of a publisher may overtake each other, which is worse than any transport is. */
  #deliver(work: () => void): void {
    if (this.#random.chance(this.#weather.loss)) return;
    this.arrived += 1;
    setTimeout(work, this.#delay());
    if (this.#random.chance(this.#weather.twice)) setTimeout(work, this.#delay());
  }

  #carry<T>(arrivesAt: number, work: () => T, twice: boolean, heard: (answer: T) => void): Promise<T> {
    const [lost, unanswered] = [0, 0].map(() => this.#random.chance(this.#weather.loss));
    const again = this.#random.chance(this.#weather.twice) && twice;
    return new Promise((resolve, reject) => {
      const fail = () => reject(new StoreError('ERR_SLUICE_STORE_TIMEOUT', 'It got lost.', 'unknown'));
      setTimeout(() => {
        if (lost) {
          setTimeout(fail, TIMEOUT_MS);
          return;
        }
        this.arrived += 1;
        const answer = work();
        if (again) setTimeout(work, this.#delay());
        if (unanswered) {
          setTimeout(fail, TIMEOUT_MS);
          return;
        }
        setTimeout(() => {
          heard(answer);
          resolve(answer);
        }, this.#delay());
      }, arrivesAt - Date.now());
    });
  }
}

function admits(answer: readonly number[], { terms }: Plan): boolean {
  // There may be more behind them.
  return terms.every((_, i) => answer[i * WIDTH + RETRY] === 0);
}
