/**
 * node-redis has the same two commands under other names.
 *
 * @module
 */

import { expected } from '../errors.js';
import { perProcess } from '../per-process.js';
import type { RedisClient } from './client.js';

/** How node-redis takes the keys and arguments of a script. */
interface NodeRedisScriptOptions {
  keys: string[];
  arguments: (string | Buffer)[];
}

/**
 * What {@link fromNodeRedis} needs of a client of node-redis (the package `redis`), version 5 or 6: single, pool
 * or cluster.
 */
export interface NodeRedisClient {
  /** Runs a script that Redis knows by its digest. */
  evalSha(sha1: string, options: NodeRedisScriptOptions): Promise<unknown>;
  /** Runs a script that is sent along. */
  eval(script: string, options: NodeRedisScriptOptions): Promise<unknown>;
  /** Whether `connect` has been called, and the client not closed since. */
  readonly isOpen?: boolean;
  /** The nodes of a cluster. */
  readonly masters?: unknown;
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
  const known = made().get(client);
  if (known !== undefined) return known;
  // The store reads strings, whatever the rest of the program wants of this client.
  const sender = (client.withTypeMapping?.({}) as NodeRedisClient | undefined) ?? client;
  const own: RedisClient & { readonly isCluster: boolean } = {
    isCluster: 'masters' in client,
    evalsha: (sha, keys, ...rest) => whenOpen(client, () => sender.evalSha(sha, optionsOf(keys, rest))),
    eval: (script, keys, ...rest) => whenOpen(client, () => sender.eval(script, optionsOf(keys, rest))),
  };
  made().set(client, own);
  return own;
}

/** One for each client, so that two stores on it are known to be on the same. */
const made = () => perProcess('clients', () => new WeakMap<object, RedisClient>());

/** How a cluster of version 5 fails that has no node for a key, or no nodes at all yet. Nothing was sent. */
const NO_NODE = /^Cannot read properties of undefined \(reading '(master|client|connectPromise|replicas)'\)/;

/** Sends, unless the client is not connected: then it fails in words that say so, which those of a cluster do not. */
async function whenOpen(client: NodeRedisClient, send: () => Promise<unknown>): Promise<unknown> {
  if (client.isOpen === false) {
    throw new Error('The client is closed: call connect() of the node-redis client, once, at the start.');
  }
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof TypeError && NO_NODE.test(error.message))) throw error;
    throw new Error('The client is offline: it knows no node to send this to.', { cause: error });
  }
}

function optionsOf(keys: number, rest: (string | Buffer)[]): NodeRedisScriptOptions {
  return { keys: rest.slice(0, keys) as string[], arguments: rest.slice(keys) };
}
