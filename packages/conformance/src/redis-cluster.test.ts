import { cluster } from './backends.js';
import { storeSuite } from './store-suite.js';
import { itLeavesKeysThatEnd } from './ttl.js';

const backend = cluster('suite');
afterAll(() => backend.close());

storeSuite({
  name: 'RedisStore on a cluster of three',
  makeStore: backend.makeStore,
  supports: { shared: true },
});

itLeavesKeysThatEnd(backend);
