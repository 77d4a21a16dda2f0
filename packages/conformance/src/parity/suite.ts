/**
 * The parity fuzz: random traces on the memory store and on a Redis, every field of every decision compared.
 *
 * @module
 */

import { randomInt } from 'node:crypto';
import { MemoryStore, type Store } from '@sluice/core';
import type { Backend } from '../backends.js';
import { scaled, seedFromEnvironment } from '../budget.js';
import { hostileIds } from '../store/hostile-ids.js';
import { itLeavesKeysThatEnd } from '../ttl.js';
import { compare, type Difference, newTally, type Tally } from './compare.js';
import { keepRegression, readRegressions } from './regressions.js';
import { shrink } from './shrink.js';
import { changingFrom, longLogFrom, type Trace, traceFrom, withKeys } from './trace.js';

/** So many traces are on their way at once: their commands share round trips. */
const LANES = 40;
export const LENGTH = 50;
const LONG_LENGTH = 2500;
const TRACES: number = scaled(3750);
const LONG_TRACES: number = scaled(6);

let names = 0;

function differenceOf(trace: Trace, redis: Store<true>, tally?: Tally): Promise<Difference | undefined> {
  names += 1;
  return compare(trace, new MemoryStore(), redis, `t${names}`, tally);
}

/** Fails with the least trace that shows the difference, which is kept for the next run. */
async function report(seed: number, trace: Trace, redis: Store<true>): Promise<never> {
  const least = await shrink(trace, async (smaller) => (await differenceOf(smaller, redis)) !== undefined);
  const difference = (await differenceOf(least, redis)) as Difference;
  keepRegression(seed, least, difference);
  throw new Error(`The stores differ (seed ${seed}): ${JSON.stringify({ difference, least }, null, 1)}`);
}

/** Ids of a megabyte take milliseconds to digest, so that only some traces can have them. */
const shortIds = hostileIds.filter((id) => id.length < 1000);

/** The trace of a seed, the `i`th of a run, on clients that call themselves whatever they like. */
function hostileTraceFrom(seed: number, i: number): Trace {
  const ids = i < hostileIds.length ? hostileIds : shortIds;
  const [a, b] = [ids[i % ids.length], ids[(i + 1 + Math.floor(i / ids.length)) % ids.length]];
  const from = i % 4 === 0 ? changingFrom : traceFrom;
  return withKeys(i < LONG_TRACES ? longLogFrom(seed, LONG_LENGTH) : from(seed, LENGTH), { a, b });
}

/** Describes how memory and the Redis of a backend, which is at `place`, decide. */
export function describeParity(place: string, backend: Backend): void {
  describe(`Memory and Redis ${place} decide the same, to the last field,`, () => {
    const redis = backend.makeStore();
    afterAll(() => backend.close());

    it('on every trace on which they once did not', async () => {
      const regressions = readRegressions();
      expect(regressions.length).toBeGreaterThan(0);
      for (const { about, trace } of regressions) {
        const difference = await differenceOf(trace, redis);
        expect({ about, difference }).toEqual({ about, difference: undefined });
      }
    });

    it(
      'on random policies, changes of them, traffic and clocks of clients with hostile ids, at least 200,000 steps of them',
      async () => {
        const seed = seedFromEnvironment() ?? randomInt(2 ** 31);
        process.stderr.write(`parity ${place}: SLUICE_SEED=${seed}\n`);
        const tally = newTally();
        let next = 0;
        const lane = async () => {
          while (next < LONG_TRACES + TRACES) {
            const i = next++;
            const trace = hostileTraceFrom(seed + i, i);
            if ((await differenceOf(trace, redis, tally)) !== undefined) await report(seed, trace, redis);
          }
        };
        await Promise.all(Array.from({ length: LANES }, lane));
        expect(tally.steps).toBeGreaterThanOrEqual(200_000);
        expect(tally.denied).toBeGreaterThan(tally.steps / 10);
        expect(tally.allowed).toBeGreaterThan(tally.steps / 10);
        expect(tally.refunds).toBeGreaterThan(tally.steps / 20);
        expect(tally.settlements).toBeGreaterThan(tally.steps / 100);
        expect(tally.charges).toBeGreaterThan(tally.steps / 100);
        expect(tally.changes).toBeGreaterThan(tally.steps / 100);
        expect(tally.blocked).toBeGreaterThan(tally.steps / 50);
      },
      scaled(600_000),
    );

    itLeavesKeysThatEnd(backend);
  });
}
