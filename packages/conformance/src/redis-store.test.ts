import { single } from './backends.js';
import { storeSuite } from './store-suite.js';
import { itLeavesKeysThatEnd } from './ttl.js';

const backend = single('suite');
afterAll(() => backend.close());

storeSuite({
  name: 'RedisStore on one server',
  makeStore: backend.makeStore,
  supports: { shared: true },
});

itLeavesKeysThatEnd(backend);
