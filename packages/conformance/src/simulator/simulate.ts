/**
 * Several processes on one store, in simulated time: what they admit together, and how often they ask.
 *
 * @module
 */

import {
  createLimiter,
  LayeredStore,
  type LayeredStoreOptions,
  type Limiter,
  type Policy,
} from '@sluice/core';
import { instantOf } from '../../../core/src/decision.js';
import { Random } from '../parity/random.js';
import { Network, type Weather } from './network.js';
import { VirtualTime } from './virtual-time.js';

/** What is simulated. */
export interface Scenario {
  readonly seed: number;
  readonly instances: number;
  readonly policy: Policy & { readonly window: number };
  readonly mode: Omit<LayeredStoreOptions, 'store'>;
  readonly weather: Weather;
  /** Requests per second, of all instances together. */
  readonly rate: number;
  /** The share of requests that the first instance gets; the others share the rest. */
  readonly skew: number;
  readonly lastsMs: number;
  /** How many instances end without a word on the way, each replaced by a new one. */
  readonly crashes: number;
}

/** What came of it. */
export interface Outcome {
  readonly requests: number;
  readonly admitted: number;
  /** The most that was admitted in any window of the policy, above its limit. */
  readonly overshoot: number;
  /** How many commands the store got, per request. */
  readonly asked: number;
  /** How many requests nobody decided, as the store could not be reached. */
  readonly failed: number;
}

interface Instance {
  readonly limiter: Limiter<true>;
  cut(): void;
}

/** Runs a scenario. */
export async function simulate(scenario: Scenario): Promise<Outcome> {
  const time = new VirtualTime(1_764_547_200_000);
  try {
    return await run(scenario, time);
  } finally {
    time.stop();
  }
}

async function run(scenario: Scenario, time: VirtualTime): Promise<Outcome> {
  const { instances, policy, mode, weather, rate, skew, lastsMs, crashes } = scenario;
  const random = new Random(scenario.seed);
  const network = new Network(weather, random);
  const start = (): Instance => {
    const { store, cut } = network.connect();
    const layered = new LayeredStore({ ...mode, store } as LayeredStoreOptions);
    return { limiter: createLimiter({ policies: [policy], store: layered, onStoreError: 'throw' }), cut };
  };
  const running = Array.from({ length: instances }, start);
  const crashAt = Array.from({ length: crashes }, () => random.whole(0, lastsMs - 1));
  const admittedAt: number[] = [];
  let failed = 0;
  let requests = 0;
  const begin = Date.now();
  while (Date.now() - begin < lastsMs) {
    // Bursts: several at one instant, then a while of nothing.
    const burst = 1 + random.whole(0, 7);
    for (let i = 0; i < burst; i++) {
      const which = random.share() < skew ? 0 : random.whole(0, instances - 1);
      requests += 1;
      running[which].limiter.consume('key').then(
        (decision) => {
          // By the clock of the store, or what the instance takes for it.
          if (decision.allowed) admittedAt.push(instantOf(decision) as number);
        },
        () => {
          failed += 1;
        },
      );
    }
    await time.pass(Math.max(1, Math.round((1000 * burst) / rate)));
    for (const at of crashAt) {
      if (at > Date.now() - begin || at < 0) continue;
      crashAt[crashAt.indexOf(at)] = -1;
      // It says nothing any more; a new one takes its place.
      const which = random.whole(0, instances - 1);
      running[which].cut();
      running[which] = start();
    }
  }
  // All but those of instances that have ended are decided by then.
  await time.pass(10_000);
  const overshoot = mostInAnyWindow(admittedAt, policy) - policy.limit;
  return { requests, admitted: admittedAt.length, overshoot, asked: network.arrived / requests, failed };
}

/** Of a fixed window those of the epoch, of the others any. */
function mostInAnyWindow(instants: readonly number[], { algorithm, window }: Scenario['policy']): number {
  if (algorithm === 'fixed-window') {
    const counts = new Map<number, number>();
    for (const at of instants) {
      const number = Math.floor(at / window);
      counts.set(number, (counts.get(number) ?? 0) + 1);
    }
    return Math.max(0, ...counts.values());
  }
  const sorted = [...instants].sort((a, b) => a - b);
  let most = 0;
  let first = 0;
  sorted.forEach((at, i) => {
    while (sorted[first] <= at - window) first += 1;
    most = Math.max(most, i - first + 1);
  });
  return most;
}
