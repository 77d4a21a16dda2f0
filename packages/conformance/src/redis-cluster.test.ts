import { cluster } from './backends.js';
import { sharedServers } from './redis-server.js';
import { itRunsOnTheServerAskedFor } from './server-version.js';
import { storeSuite } from './store-suite.js';
import { itLeavesKeysThatEnd } from './ttl.js';

const backend = cluster('suite');
afterAll(() => backend.close());

const name = 'RedisStore on a cluster of three';

itRunsOnTheServerAskedFor(name, () => sharedServers().clusterPorts);

storeSuite({
  name,
  makeStore: backend.makeStore,
  supports: { shared: true },
});

itLeavesKeysThatEnd(backend);
