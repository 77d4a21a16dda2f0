import { cluster } from './backends.js';
import { describeParity } from './parity/suite.js';

describeParity('on a cluster of three', cluster('parity', { enableAutoPipelining: true }));
