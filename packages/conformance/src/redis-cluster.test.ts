import { cluster } from './backends.js';
import { storeSuite } from './store-suite.js';
import { itLeavesNoKeyForEver } from './ttl.js';

const backend = cluster('suite');
afterAll(() => backend.close());

storeSuite({
  name: 'RedisStore on a cluster of three',
  makeStore: backend.makeStore,
  supports: { shared: true },
});

itLeavesNoKeyForEver(backend);
