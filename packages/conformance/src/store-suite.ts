/**
 * What every store must do, topic by topic. A store's own test file makes the store and calls this.
 *
 * @module
 */

import { admission } from './store/admission.js';
import { algorithmChange } from './store/algorithm-change.js';
import { block } from './store/block.js';
import { changedBuckets } from './store/changed-buckets.js';
import { changedNumbers } from './store/changed-numbers.js';
import { charge } from './store/charge.js';
import { concurrency } from './store/concurrency.js';
import { countDenied } from './store/count-denied.js';
import { keys } from './store/keys.js';
import { lifecycle } from './store/lifecycle.js';
import { liveChange } from './store/live-change.js';
import { peek } from './store/peek.js';
import { refund } from './store/refund.js';
import { requestLimit } from './store/request-limit.js';
import { reset } from './store/reset.js';
import { settle } from './store/settle.js';
import { several } from './store/several.js';
import { severalKeys } from './store/several-keys.js';
import { type StoreSuiteOptions, Suite } from './store/suite.js';
import { update } from './store/update.js';
import { vectors } from './store/vectors.js';

const topics = [
  vectors,
  admission,
  peek,
  refund,
  reset,
  charge,
  requestLimit,
  countDenied,
  block,
  settle,
  several,
  severalKeys,
  keys,
  lifecycle,
  algorithmChange,
  changedNumbers,
  changedBuckets,
  liveChange,
  update,
  concurrency,
];

/** Describes the whole suite for one store. */
export function storeSuite(options: StoreSuiteOptions): void {
  const suite = new Suite(options);
  describe(options.name, () => {
    for (const topic of topics) topic(suite);
  });
}
