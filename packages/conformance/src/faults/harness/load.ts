/**
 * Requests that keep coming, whatever happens to Redis, and what became of each.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Decision, Limiter } from '@sluice/core';
import { LagMeter } from './meters.js';
import { endAfterTest } from './owned.js';

/** One request. Instants are those of `performance.now()`. */
export interface Sample {
  readonly key: string;
  readonly startMs: number;
  readonly endMs: number;
  /** `undefined` if the call was rejected, with `error`. */
  readonly decision: Decision | undefined;
  readonly error: unknown;
}

/** How much comes. */
export interface LoadOptions {
  readonly keys: readonly string[];
  /** So many clients at once, each of which waits for its answer. Default 16. */
  readonly clients?: number;
  /** The pause after each answer. Default 5 ms: a limiter that decides without Redis would never let the loop go. */
  readonly pauseMs?: number;
}

/** Load on a limiter, from its construction until it is stopped. */
export class Load {
  readonly samples: Sample[] = [];
  readonly lag: LagMeter = new LagMeter();
  readonly #clients: Promise<void>[];
  #stopped = false;

  constructor(limiter: Limiter<true>, options: LoadOptions) {
    endAfterTest(() => this.stop());
    const { keys, clients = 16, pauseMs = 5 } = options;
    this.#clients = Array.from({ length: clients }, async (_, i) => {
      for (let turn = i; !this.#stopped; turn += 1) {
        this.samples.push(await timed(limiter, keys[turn % keys.length]));
        await sleep(pauseMs);
      }
    });
  }

  /** Waits until every request has its answer. */
  async stop(): Promise<readonly Sample[]> {
    this.#stopped = true;
    await Promise.all(this.#clients);
    this.lag.stop();
    return this.samples;
  }
}

/** One request, timed. */
async function timed(limiter: Limiter<true>, key: string): Promise<Sample> {
  const startMs = performance.now();
  const [decision, error] = await limiter.consume(key).then(
    (value) => [value, undefined] as const,
    (reason: unknown) => [undefined, reason] as const,
  );
  return { key, startMs, endMs: performance.now(), decision, error };
}
