/**
 * Random traffic on one key, recorded.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, type Decision, type Limiter, type Policy } from '@sluice/core';
import { type RedisClient, RedisStore } from '@sluice/core/redis';
import type { Random } from '../parity/random.js';
import { capacityOf } from '../settings.js';
import { optionsOf } from './check.js';
import type { Call, Entry } from './entry.js';
import type { Recorder, Transaction } from './record.js';

/** A decision without the server has no place in its order. */
const PATIENT_MS = 10_000;

/** A lane makes so many calls, however slow the machine is. */
const LEAST = 30;

/** What one process does to one key. */
export interface Traffic {
  readonly prefix: string;
  /** The name of the limiter. */
  readonly name: string;
  readonly policies: readonly Policy[];
  readonly durationMs: number;
  /** The longest pause between two bursts. */
  readonly pauseMs: number;
}

/** The key of Redis that counts what is done under the limiter. */
export function counterOf(prefix: string, name: string): string {
  return `${prefix}:{key}:${name}:order`;
}

/** Sends calls, one after the other, until the time is up. The recorder is its own. */
export class Lane {
  readonly #name: string;
  readonly #random: Random;
  readonly #recorder: Recorder;
  readonly #limiter: Limiter<true>;
  readonly #traffic: Traffic;
  readonly #most: number;
  readonly #entries: Entry[] = [];
  readonly #decisions: { place: number; decision: Decision }[] = [];

  /** @param client - what the store is given: the recorder, or what passes everything on to it. */
  constructor(name: string, random: Random, recorder: Recorder, client: RedisClient, traffic: Traffic) {
    this.#name = name;
    this.#random = random;
    this.#traffic = traffic;
    this.#most = Math.min(...traffic.policies.map(capacityOf));
    this.#recorder = recorder;
    const store = new RedisStore({ client, prefix: traffic.prefix, timeout: PATIENT_MS });
    this.#limiter = createLimiter({
      name: traffic.name,
      policies: traffic.policies,
      store,
      onStoreError: 'throw',
    });
  }

  async run(): Promise<readonly Entry[]> {
    const end = performance.now() + this.#traffic.durationMs;
    while (performance.now() < end || this.#entries.length < LEAST) {
      const burst = this.#random.whole(1, 6);
      for (let i = 0; i < burst; i++) await this.#call();
      await sleep(this.#random.whole(0, this.#traffic.pauseMs));
    }
    return this.#entries;
  }

  async #call(): Promise<void> {
    const call = this.#draw();
    const decision = await this.#send(call);
    const transactions = this.#recorder.take();
    for (const transaction of transactions) {
      const entry = this.#entry(transaction, transaction.ran ? call : { do: 'nothing' });
      this.#entries.push(transaction.ran && decision !== undefined ? { ...entry, decision } : entry);
    }
    const { place } = transactions.at(-1) ?? {};
    if (place !== undefined && decision?.allowed) this.#decisions.push({ place, decision });
  }

  #entry({ place, from, to, at }: Transaction, call: Call): Entry {
    return { place, lane: this.#name, from, to, at, call };
  }

  #draw(): Call {
    const random = this.#random;
    const lot = random.share();
    if (lot > 0.995) return { do: 'reset' };
    if (lot > 0.88 && this.#decisions.length > 0) {
      const { place } = random.pick(this.#decisions.slice(-4));
      const settle = { do: 'settle', of: place, units: random.whole(0, 2 * this.#most) } as const;
      return random.pick([settle, { do: 'refund', of: place }, { do: 'refund', of: place, units: 1 }]);
    }
    const cost = random.pick([1, 1, 1, 1, 2, 3, 0, random.whole(1, this.#most + 1)]);
    const call = { do: lot > 0.8 ? 'peek' : 'consume', cost } as const;
    if (!random.chance(0.05)) return call;
    const { name, limit } = random.pick(this.#limiter.policies);
    return { ...call, limit: { [name]: random.whole(1, 2 * limit) } };
  }

  async #send(call: Call): Promise<Decision | undefined> {
    if (call.do === 'reset') await this.#limiter.reset('key');
    else if (call.do === 'refund' || call.do === 'settle') {
      const { decision } = this.#decisions.find(({ place }) => place === call.of) ?? {};
      if (call.do === 'refund') await this.#limiter.refund(decision as Decision, call.units);
      else await this.#limiter.settle(decision as Decision, call.units);
    } else if (call.do !== 'nothing') return this.#limiter[call.do]('key', optionsOf(call));
    return undefined;
  }
}
