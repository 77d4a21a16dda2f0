import { randomInt } from 'node:crypto';
import { MemoryStore, type Store, type Table } from '@sluice/core';
import { type Backend, cluster, single } from './backends.js';
import { scaled, seedFromEnvironment } from './budget.js';
import { compare, type Difference, type Tally } from './parity/compare.js';
import { keepRegression, readRegressions } from './parity/regressions.js';
import { shrink } from './parity/shrink.js';
import { longLogFrom, type Trace, traceFrom, withKeys } from './parity/trace.js';
import { hostileIds } from './store/hostile-ids.js';
import { itLeavesKeysThatEnd } from './ttl.js';

/** So many traces are on their way at once: their commands share round trips. */
const LANES = 40;
const LENGTH = 50;
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
  return withKeys(i < LONG_TRACES ? longLogFrom(seed, LONG_LENGTH) : traceFrom(seed, LENGTH), { a, b });
}

function describeParity(place: string, backend: Backend): void {
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
      'on random policies, traffic and clocks of clients with hostile ids, at least 200,000 steps of them',
      async () => {
        const seed = seedFromEnvironment() ?? randomInt(2 ** 31);
        process.stderr.write(`parity ${place}: SLUICE_SEED=${seed}\n`);
        const tally: Tally = { steps: 0, allowed: 0, denied: 0, refunds: 0, charges: 0 };
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
        expect(tally.charges).toBeGreaterThan(tally.steps / 100);
      },
      scaled(300_000),
    );

    itLeavesKeysThatEnd(backend);
  });
}

describeParity('on one server', single('parity', { enableAutoPipelining: true }));
describeParity('on a cluster of three', cluster('parity', { enableAutoPipelining: true }));

/** A memory store that is wrong on purpose. */
function wrongStore(change: (table: Table<false>) => Partial<Table<false>>): Store<false> {
  const store = new MemoryStore();
  return {
    async: false,
    open(name, policies) {
      const table = store.open(name, policies);
      return {
        decide: (...args) => table.decide(...args),
        charge: (...args) => table.charge(...args),
        refund: (...args) => table.refund(...args),
        reset: (...args) => table.reset(...args),
        close: () => table.close(),
        ...change(table),
      };
    },
  };
}

describe('A difference', () => {
  const backend = single('difference', { enableAutoPipelining: true });
  const redis = backend.makeStore();
  afterAll(() => backend.close());

  const differs = (trace: Trace, wrong: Store<false>) => {
    names += 1;
    return compare(trace, wrong, redis, `t${names}`);
  };

  it('is found down to the sign of zero', async () => {
    const wrong = wrongStore((table) => ({
      decide: (...args) => Array.from(table.decide(...args), (number) => (number === 0 ? -0 : number)),
    }));
    const found = await differs(traceFrom(1, 1), wrong);
    expect(found).toMatchObject({ memory: -0, redis: 0 });
  });

  it('is shrunk to the steps that show it', async () => {
    const wrong = wrongStore(() => ({ refund: () => {} }));
    let seed = 1;
    while ((await differs(traceFrom(seed, LENGTH), wrong)) === undefined) seed += 1;
    const shows = async (trace: Trace) => (await differs(trace, wrong)) !== undefined;
    const { policies, steps } = await shrink(traceFrom(seed, LENGTH), shows);
    expect(policies).toHaveLength(1);
    expect(steps.map((step) => step.do)).toEqual([
      'consume',
      'refund',
      expect.stringMatching(/consume|peek|charge/),
    ]);
  });
});
