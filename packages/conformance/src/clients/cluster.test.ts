import { type RedisCluster, startCluster } from '../redis-server.js';
import { itRunsOnTheServerAskedFor } from '../server-version.js';
import { clusters, openSnippet, patient } from './snippets.js';
import { clientSuite } from './suite.js';

let cluster: RedisCluster;
beforeAll(async () => {
  cluster = await startCluster();
});
afterAll(() => cluster.stop());

itRunsOnTheServerAskedFor('Clients of a cluster', () => cluster.ports);

describe.each(clusters)('With the settings of the documentation,', (snippet) => {
  clientSuite({
    title: snippet.title,
    open: () => openSnippet(snippet, cluster.ports, patient),
    ports: () => cluster.ports,
  });
});
