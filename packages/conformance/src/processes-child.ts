/**
 * One of several processes that share a limit. It is told what to do by messages, and says how much it was admitted.
 *
 * @module
 */

import { createLimiter, type Policy } from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';
import { Cluster, Redis } from 'ioredis';

/** One task: so many requests at once, of each of the keys. */
export interface Task {
  readonly prefix: string;
  readonly name: string;
  readonly policies: readonly Policy[];
  readonly keys: readonly string[];
  readonly requests: number;
}

/** For each of the keys, how many requests were admitted. */
export type Result = readonly number[];

const ports = process.argv.slice(2).map(Number);
const nodes = ports.map((port) => ({ host: '127.0.0.1', port }));
const client =
  nodes.length === 1
    ? new Redis({ ...nodes[0], autoResendUnfulfilledCommands: false })
    : new Cluster(nodes, { retryDelayOnFailover: 0 });

async function work({ prefix, name, policies, keys, requests }: Task): Promise<Result> {
  const limiter = createLimiter({
    name,
    policies,
    store: new RedisStore({ client, prefix, timeout: '20s' }),
  });
  const counts = await Promise.all(
    keys.map(async (key) => {
      const decisions = await Promise.all(Array.from({ length: requests }, () => limiter.consume(key)));
      return decisions.filter((decision) => decision.allowed).length;
    }),
  );
  limiter.close();
  return counts;
}

process.on('message', (task: Task) => {
  work(task).then(
    (result) => process.send?.(result),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit());
client.once('ready', () => process.send?.('ready'));
