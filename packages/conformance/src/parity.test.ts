import { MemoryStore, type Store, type Table } from '@sluice/core';
import { single } from './backends.js';
import { compare } from './parity/compare.js';
import { shrink } from './parity/shrink.js';
import { paritySuite } from './parity/suite.js';
import { type Trace, traceFrom } from './parity/trace.js';
import { sharedServers } from './redis-server.js';
import { itRunsOnTheServerAskedFor } from './server-version.js';
import { itLeavesNoKeyForEver } from './ttl.js';

const LENGTH = 50;

const backend = single('parity', { enableAutoPipelining: true });
afterAll(() => backend.close());

const redis = backend.makeStore();

itRunsOnTheServerAskedFor('Parity with one server', () => [sharedServers().port]);

// About 200,000 random steps.
paritySuite({ name: 'one server', redis, longTraces: 6 });

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
  let limiters = 0;
  const differs = (trace: Trace, wrong: Store<false>) => {
    limiters += 1;
    return compare(trace, wrong, redis, `wrong${limiters}`);
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
      expect.stringMatching(/refund|settle/),
      expect.stringMatching(/consume|peek|charge/),
    ]);
  });
});

itLeavesNoKeyForEver(backend);
