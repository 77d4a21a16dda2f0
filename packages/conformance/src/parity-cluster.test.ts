import { cluster } from './backends.js';
import { describeParity } from './parity/suite.js';
import { sharedServers } from './redis-server.js';
import { itRunsOnTheServerAskedFor } from './server-version.js';

itRunsOnTheServerAskedFor('Parity with a cluster of three', () => sharedServers().clusterPorts);

describeParity('on a cluster of three', cluster('parity', { enableAutoPipelining: true }));
