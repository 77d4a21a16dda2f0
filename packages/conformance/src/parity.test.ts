import { MemoryStore, type Store, type Table } from '@sluice/core';
import { single } from './backends.js';
import { compare } from './parity/compare.js';
import { shrink } from './parity/shrink.js';
import { describeParity, LENGTH } from './parity/suite.js';
import { type Trace, traceFrom } from './parity/trace.js';
import { sharedServers } from './redis-server.js';
import { itRunsOnTheServerAskedFor } from './server-version.js';

itRunsOnTheServerAskedFor('Parity with one server', () => [sharedServers().port]);

describeParity('on one server', single('parity', { enableAutoPipelining: true }));

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
        correct: (...args) => table.correct(...args),
        reset: (...args) => table.reset(...args),
        block: table.block?.bind(table),
        unblock: table.unblock?.bind(table),
        update: (policies) => table.update?.(policies),
        close: () => table.close(),
        ...change(table),
      };
    },
  };
}

describe('A difference', () => {
  const backend = single('difference', { enableAutoPipelining: true });
  const redis = backend.makeStore();
  let names = 0;
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
    const wrong = wrongStore(() => ({ correct: () => [0, 0, 0] }));
    let seed = 1;
    while ((await differs(traceFrom(seed, LENGTH), wrong)) === undefined) seed += 1;
    const shows = async (trace: Trace) => (await differs(trace, wrong)) !== undefined;
    const { policies, steps } = await shrink(traceFrom(seed, LENGTH), shows);
    expect(policies).toHaveLength(1);
    expect(steps.map((step) => step.do)).toEqual([
      'consume',
      expect.stringMatching(/refund|settle/),
      expect.stringMatching(/consume|peek|charge/),
    ]);
  });
});
