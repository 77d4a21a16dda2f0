/**
 * What every store must do, topic by topic. A store's own test file makes the store and calls this.
 *
 * @module
 */

import { Suite, type StoreSuiteOptions } from './store/suite.js';
import { vectors } from './store/vectors.js';

const topics = [vectors];

/** Describes the whole suite for one store. */
export function storeSuite(options: StoreSuiteOptions): void {
  const suite = new Suite(options);
  describe(options.name, () => {
    for (const topic of topics) topic(suite);
  });
}
