/**
 * Connections to the real Redis servers that the test run started.
 *
 * @module
 */

import type { Store } from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';
import { Cluster, Redis } from 'ioredis';
import { ExpectedLives } from './expected-lives.js';
import { sharedServers } from './redis-server.js';

/** A Redis to test on, and the keys of one test file in it. It connects when it is first asked. */
export interface Backend {
  readonly client: Redis | Cluster;
  /** What the keys of this test file begin with. */
  readonly prefix: string;
  /** A store whose keys are expected to live as long as its answers say. */
  makeStore(): Store<true>;
  readonly expected: ExpectedLives;
  /** Connections to all servers that hold keys. */
  masters(): readonly Redis[];
  close(): Promise<void>;
}

const HOST = '127.0.0.1';

/** The single server. Each test file has a prefix of its own, without wildcards of Redis. */
export function single(prefix: string, options: { enableAutoPipelining?: boolean } = {}): Backend {
  const port = sharedServers().port;
  const client = new Redis({
    host: HOST,
    port,
    lazyConnect: true,
    autoResendUnfulfilledCommands: false,
    ...options,
  });
  return backendOf(client, prefix, () => [client]);
}

/** The cluster of three. */
export function cluster(prefix: string, options: { enableAutoPipelining?: boolean } = {}): Backend {
  const nodes = sharedServers().clusterPorts.map((port) => ({ host: HOST, port }));
  const client = new Cluster(nodes, { lazyConnect: true, retryDelayOnFailover: 0, ...options });
  return backendOf(client, prefix, () => client.nodes('master'));
}

function backendOf(client: Redis | Cluster, prefix: string, masters: () => readonly Redis[]): Backend {
  const expected = new ExpectedLives(prefix);
  return {
    client,
    prefix,
    // No test here is of a slow Redis, and the machine may be busy.
    makeStore: () => expected.watch(new RedisStore({ client, prefix, timeout: '20s' })),
    expected,
    masters,
    close: async () => void (await client.quit()),
  };
}
