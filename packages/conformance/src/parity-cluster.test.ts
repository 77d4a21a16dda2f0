import { cluster } from './backends.js';
import { paritySuite } from './parity/suite.js';
import { sharedServers } from './redis-server.js';
import { itRunsOnTheServerAskedFor } from './server-version.js';
import { itLeavesNoKeyForEver } from './ttl.js';

const backend = cluster('parity');
afterAll(() => backend.close());

itRunsOnTheServerAskedFor('Parity with a cluster of three', () => sharedServers().clusterPorts);

// All of it where servers are the subject; a sixth otherwise, as a cluster decides by the same script.
paritySuite({
  name: 'a cluster of three',
  redis: backend.makeStore(),
  longTraces: process.env.SLUICE_SERVER ? 6 : 1,
});

itLeavesNoKeyForEver(backend);
