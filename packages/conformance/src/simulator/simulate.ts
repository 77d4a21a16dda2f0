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
  manualClock,
} from '@sluice/core';
import { Random } from '../parity/random.js';
import { type Admission, excessOf, type SimulatedPolicy } from './excess.js';
import { type Connection, Network, type Weather } from './network.js';
import { VirtualTime } from './virtual-time.js';

/** What is simulated. */
export interface Scenario {
  readonly seed: number;
  readonly instances: number;
  readonly policy: SimulatedPolicy;
  readonly mode: Omit<LayeredStoreOptions, 'store'>;
  readonly weather: Weather;
  /** Requests per second, of all instances together, by turns in equal stretches of time. */
  readonly rates: readonly number[];
  /** The share of requests that the first instance gets; the others share the rest. */
  readonly skew: number;
  /** The most requests that come at one instant. */
  readonly burst: number;
  /** The most that a request costs. */
  readonly cost: number;
  readonly lastsMs: number;
  /** How many instances end without a word on the way, each replaced by a new one. */
  readonly crashes: number;
}

/** What came of it. */
export interface Outcome {
  readonly requests: number;
  /** Units. */
  readonly admitted: number;
  /** The units that one process alone would have admitted of the same requests, exactly. */
  readonly ideal: number;
  /** The most units in use above the limit, by the definition of the algorithm; 0 if never. */
  readonly overshoot: number;
  /** The share of the ideal that was not admitted. */
  readonly undershoot: number;
  /** How many commands the store got, or messages the processes, per request. */
  readonly asked: number;
  /** How many requests nobody decided, as the store could not be reached. */
  readonly failed: number;
  /** Returns the most units that were admitted in any so long stretch of time. */
  mostIn(ms: number): number;
}

interface Instance {
  readonly limiter: Limiter<true>;
  readonly connection: Connection;
}

/** Runs a scenario. */
export async function simulate(scenario: Scenario): Promise<Outcome> {
  const time = new VirtualTime(1_764_547_200_000);
  try {
    return await new Simulation(scenario, time).run();
  } finally {
    time.stop();
  }
}

class Simulation {
  readonly #scenario: Scenario;
  readonly #time: VirtualTime;
  readonly #random: Random;
  readonly #network: Network;
  readonly #running: Instance[];
  readonly #crashes: number[];
  readonly #admissions: Admission[] = [];
  readonly #asked: Admission[] = [];
  readonly #begin = Date.now();
  #failed = 0;

  constructor(scenario: Scenario, time: VirtualTime) {
    this.#scenario = scenario;
    this.#time = time;
    this.#random = new Random(scenario.seed);
    this.#network = new Network(scenario.weather, this.#random);
    this.#running = Array.from({ length: scenario.instances }, () => this.#start());
    const { crashes, lastsMs } = scenario;
    this.#crashes = Array.from({ length: crashes }, () => this.#random.whole(0, lastsMs - 1));
    this.#crashes.sort((a, b) => a - b);
  }

  async run(): Promise<Outcome> {
    const { rates, burst, lastsMs } = this.#scenario;
    for (let passed = 0; passed < lastsMs; passed = Date.now() - this.#begin) {
      const rate = rates[Math.floor((passed * rates.length) / lastsMs)];
      // Several at one instant, then a while of nothing.
      const together = this.#random.whole(1, burst);
      for (let i = 0; i < together; i++) this.#request();
      // Halves of milliseconds and the like add up to the rate.
      const ms = (1000 * together) / rate;
      await this.#time.pass(Math.floor(ms) + (this.#random.chance(ms % 1) ? 1 : 0));
      this.#crash();
    }
    // All but those of instances that have ended are decided by then.
    await this.#time.pass(10_000);
    return this.#outcome();
  }

  #start(): Instance {
    const connection = this.#network.connect();
    const { mode, policy } = this.#scenario;
    const { transport } = connection;
    const behind = mode.mode === 'gossip' ? { transport } : { store: connection.store };
    const store = new LayeredStore({ ...mode, ...behind } as LayeredStoreOptions);
    return { limiter: createLimiter({ policies: [policy], store, onStoreError: 'throw' }), connection };
  }

  #request(): void {
    const { skew, instances, cost: most } = this.#scenario;
    const which = this.#random.chance(skew) ? 0 : this.#random.whole(0, instances - 1);
    const { limiter, connection } = this.#running[which];
    const cost = this.#random.whole(1, most);
    this.#asked.push({ at: this.#network.now, units: cost });
    limiter.consume('key', { cost }).then(
      ({ allowed }) => {
        // Units that the store admitted were used when it did; others are when they are admitted here.
        if (allowed) {
          this.#admissions.push({ at: connection.admitted.shift() ?? this.#network.now, units: cost });
        }
      },
      () => {
        this.#failed += 1;
      },
    );
  }

  /** Whoever ends says nothing any more; a new one takes its place. */
  #crash(): void {
    while (this.#crashes.length > 0 && this.#crashes[0] <= Date.now() - this.#begin) {
      this.#crashes.shift();
      const which = this.#random.whole(0, this.#scenario.instances - 1);
      this.#running[which].connection.cut();
      this.#running[which] = this.#start();
    }
  }

  #outcome(): Outcome {
    const { policy } = this.#scenario;
    const admitted = sumOf(this.#admissions);
    const ideal = idealOf(policy, this.#asked);
    return {
      requests: this.#asked.length,
      admitted,
      ideal,
      overshoot: Math.max(0, excessOf(policy, this.#admissions)),
      undershoot: Math.max(0, 1 - admitted / ideal),
      asked: this.#network.arrived / this.#asked.length,
      failed: this.#failed,
      mostIn: (ms) => {
        const log = { algorithm: 'sliding-window-log', limit: 0, window: ms } as const;
        return excessOf(log, this.#admissions);
      },
    };
  }
}

/** What one process would admit of the requests. */
function idealOf(policy: SimulatedPolicy, asked: readonly Admission[]): number {
  const clock = manualClock(0);
  const limiter = createLimiter({ policies: [policy], clock });
  const admitted = asked.filter(({ at, units }) => {
    clock.set(at);
    return limiter.consume('key', { cost: units }).allowed;
  });
  return sumOf(admitted);
}

function sumOf(admissions: readonly Admission[]): number {
  return admissions.reduce((sum, { units }) => sum + units, 0);
}
