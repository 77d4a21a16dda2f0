/**
 * node-redis has the same two commands under other names.
 *
 * @module
 */

import { expected } from '../errors.js';
import type { RedisClient } from './client.js';

/** How node-redis takes the keys and arguments of a script. */
interface NodeRedisScriptOptions {
  keys: string[];
  arguments: (string | Buffer)[];
}

/**
 * What {@link fromNodeRedis} needs of a client of node-redis (the package `redis`), version 5 or 6: single, pool,
 * Sentinel or cluster.
 */
export interface NodeRedisClient {
  evalSha(sha1: string, options: NodeRedisScriptOptions): Promise<unknown>;
  eval(script: string, options: NodeRedisScriptOptions): Promise<unknown>;
  /** Whether `connect` has been called, and the client not closed since. */
  readonly isOpen?: boolean;
  /** The same connection, with replies in other JavaScript types. */
  withTypeMapping?(mapping: object): unknown;
}

/**
 * Returns a client for a {@link RedisStore} that sends by the given node-redis client. It never connects or closes it,
 * and a command is refused, unsent, until you have called `connect`.
 *
 * Replies come in the default types whatever type mapping the client has, and a command has no time limit of its own
 * but that of the store.
 *
 * @throws ArgumentError if `client` is none of node-redis.
 *
 * @example
 * import { fromNodeRedis, RedisStore } from '@sluice/core/redis';
 * import { createClient } from 'redis';
 * const client = createClient();
 * client.on('error', (error) => console.error(error));
 * await client.connect();
 * const store = new RedisStore({ client: fromNodeRedis(client) });
 */
export function fromNodeRedis(client: NodeRedisClient): RedisClient {
  if (typeof client?.evalSha !== 'function' || typeof client.eval !== 'function') {
    throw expected('ERR_SLUICE_OPTION', 'client', 'a node-redis client (with evalSha and eval)', client);
  }
  // The store reads numbers and strings, whatever the rest of the program wants of this client.
  const sender = (client.withTypeMapping?.({}) as NodeRedisClient | undefined) ?? client;
  return {
    async evalsha(sha, keys, ...rest) {
      demandOpen(client);
      return sender.evalSha(sha, optionsOf(keys, rest));
    },
    async eval(script, keys, ...rest) {
      demandOpen(client);
      return sender.eval(script, optionsOf(keys, rest));
    },
  };
}

/** A cluster that is not open fails in ways that nobody understands. */
function demandOpen(client: NodeRedisClient): void {
  if (client.isOpen !== false) return;
  throw new Error(
    'The client is closed: call connect() of the node-redis client, once, when the program starts.',
  );
}

function optionsOf(keys: number, rest: (string | Buffer)[]): NodeRedisScriptOptions {
  return { keys: rest.slice(0, keys) as string[], arguments: rest.slice(keys) };
}
