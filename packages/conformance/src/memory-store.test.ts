import { MemoryStore } from '@sluice/core';
import { storeSuite } from './store-suite.js';

storeSuite({
  name: 'MemoryStore',
  makeStore: () => new MemoryStore(),
  supports: { shared: false },
});
