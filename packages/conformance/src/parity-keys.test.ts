import { randomInt } from 'node:crypto';
import { MemoryStore } from '@sluice/core';
import { single } from './backends.js';
import { scaled, seedFromEnvironment } from './budget.js';
import { compare, newTally } from './parity/compare.js';
import { keysTraceFrom } from './parity/trace.js';
import { sharedServers } from './redis-server.js';
import { itRunsOnTheServerAskedFor } from './server-version.js';
import { itLeavesKeysThatEnd } from './ttl.js';

const LANES = 40;
const LENGTH = 50;
const TRACES: number = scaled(1000);

itRunsOnTheServerAskedFor('Parity of several keys with one server', () => [sharedServers().port]);

describe('Memory and Redis on one server decide the same, to the last field, of keys of several kinds,', () => {
  const backend = single('parity-keys', { enableAutoPipelining: true });
  const redis = backend.makeStore();
  afterAll(() => backend.close());

  it(
    'on random limits, traffic and clocks',
    async () => {
      const seed = seedFromEnvironment() ?? randomInt(2 ** 31);
      process.stderr.write(`parity of several keys: SLUICE_SEED=${seed}\n`);
      const tally = newTally();
      let next = 0;
      const lane = async () => {
        while (next < TRACES) {
          const i = next++;
          const trace = keysTraceFrom(seed + i, LENGTH);
          const difference = await compare(trace, new MemoryStore(), redis, `t${i}`, tally);
          expect({ seed: seed + i, limits: trace.limits, difference }).toMatchObject({
            difference: undefined,
          });
        }
      };
      await Promise.all(Array.from({ length: LANES }, lane));
      expect(tally.steps).toBeGreaterThanOrEqual(TRACES * LENGTH * 0.99);
      expect(tally.denied).toBeGreaterThan(tally.steps / 10);
      expect(tally.allowed).toBeGreaterThan(tally.steps / 10);
      expect(tally.refunds).toBeGreaterThan(tally.steps / 20);
      expect(tally.settlements).toBeGreaterThan(tally.steps / 100);
      expect(tally.charges).toBeGreaterThan(tally.steps / 100);
      expect(tally.blocked).toBeGreaterThan(tally.steps / 50);
    },
    scaled(600_000),
  );

  itLeavesKeysThatEnd(backend);
});
