/**
 * A process that limits a few requests in memory and then has nothing to do.
 *
 * @module
 */

import { createLimiter } from '@sluice/core';

const limiter = createLimiter({ policies: [{ limit: 2, window: '1d' }] });
const decisions = [1, 2, 3].map(() => limiter.consume('key').allowed);
process.disconnect?.();
process.exitCode = decisions.join() === 'true,true,false' ? 0 : 1;
