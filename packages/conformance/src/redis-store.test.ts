import { single } from './backends.js';
import { sharedServers } from './redis-server.js';
import { itRunsOnTheServerAskedFor } from './server-version.js';
import { storeSuite } from './store-suite.js';
import { itLeavesKeysThatEnd } from './ttl.js';

const backend = single('suite');
afterAll(() => backend.close());

const name = 'RedisStore on one server';

itRunsOnTheServerAskedFor(name, () => [sharedServers().port]);

storeSuite({
  name,
  makeStore: backend.makeStore,
  supports: { shared: true },
});

itLeavesKeysThatEnd(backend);
