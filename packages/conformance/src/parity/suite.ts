/**
 * The parity fuzz: on any trace, memory and Redis must decide the same.
 *
 * @module
 */

import { randomInt } from 'node:crypto';
import { MemoryStore } from '@sluice/core';
import type { RedisStore } from '@sluice/core/redis';
import { scaled, seedFromEnvironment } from '../budget.js';
import { compare, type Difference, type Tally } from './compare.js';
import { keepRegression, readRegressions } from './regressions.js';
import { shrink } from './shrink.js';
import { longLogFrom, type Trace, traceFrom } from './trace.js';

/** So many traces are on their way at once: their commands share round trips. */
const LANES = 40;
const LENGTH = 50;
const LONG_LENGTH = 2500;
/** For each long trace so many of the others. */
const TRACES_PER_LONG = 625;
const STEPS_PER_LONG = 33_400;

export interface ParityOptions {
  /** Where Redis runs: part of the titles. */
  readonly name: string;
  readonly redis: RedisStore;
  /** How many long traces; about 33,400 random steps belong to each. */
  readonly longTraces: number;
}

/** Describes the fuzz for one Redis. */
export function paritySuite({ name, redis, longTraces }: ParityOptions): void {
  const long = scaled(longTraces);
  const total = long * (1 + TRACES_PER_LONG);
  const leastSteps = long * STEPS_PER_LONG;
  let limiters = 0;

  function differenceOf(trace: Trace, tally?: Tally): Promise<Difference | undefined> {
    limiters += 1;
    return compare(trace, new MemoryStore(), redis, `t${limiters}`, tally);
  }

  /** Fails with the least trace that shows the difference, which is kept for the next run. */
  async function report(seed: number, trace: Trace): Promise<never> {
    const least = await shrink(trace, async (smaller) => (await differenceOf(smaller)) !== undefined);
    const difference = (await differenceOf(least)) as Difference;
    keepRegression(seed, least, difference);
    throw new Error(`The stores differ (seed ${seed}): ${JSON.stringify({ difference, least }, null, 1)}`);
  }

  describe(`Memory and ${name} decide the same, to the last field,`, () => {
    it('on every trace on which they once did not', async () => {
      const regressions = readRegressions();
      expect(regressions.length).toBeGreaterThan(0);
      for (const { about, trace } of regressions) {
        expect({ about, difference: await differenceOf(trace) }).toEqual({ about, difference: undefined });
      }
    });

    it(
      `on random policies, traffic and clocks, at least ${leastSteps} steps of them`,
      async () => {
        const seed = seedFromEnvironment() ?? randomInt(2 ** 31);
        process.stderr.write(`parity: SLUICE_SEED=${seed}\n`);
        const tally: Tally = { steps: 0, allowed: 0, denied: 0, refunds: 0, settlements: 0, charges: 0 };
        let next = 0;
        const lane = async () => {
          while (next < total) {
            const i = next++;
            const trace = i < long ? longLogFrom(seed + i, LONG_LENGTH) : traceFrom(seed + i, LENGTH);
            if ((await differenceOf(trace, tally)) !== undefined) await report(seed, trace);
          }
        };
        await Promise.all(Array.from({ length: LANES }, lane));
        expect(tally.steps).toBeGreaterThanOrEqual(leastSteps);
        expect(tally.denied).toBeGreaterThan(tally.steps / 10);
        expect(tally.allowed).toBeGreaterThan(tally.steps / 10);
        expect(tally.refunds).toBeGreaterThan(tally.steps / 20);
        expect(tally.settlements).toBeGreaterThan(tally.steps / 100);
        expect(tally.charges).toBeGreaterThan(tally.steps / 100);
      },
      scaled(300_000),
    );
  });
}
