/**
 * State in Redis, shared by every process that asks it.
 *
 * @module
 */

import { refuseUnknown } from '../check.js';
import { expected } from '../errors.js';
import type { ParsedPolicy, Store, Table } from '../types.js';
import type { RedisClient } from './client.js';
import { RedisTable } from './redis-table.js';

/** What a {@link RedisStore} is made of. */
export interface RedisStoreOptions {
  /** An ioredis or iovalkey client, single, Sentinel or Cluster. The store never closes it. */
  readonly client: RedisClient;
  /** What every key begins with, before a colon. Default `'rl'`. */
  readonly prefix?: string;
}

/**
 * Keeps state in Redis 7 or later, or Valkey: one script and one round trip per decision, by the server's clock.
 *
 * @example
 * import { createLimiter } from '@sluice/core';
 * import { RedisStore } from '@sluice/core/redis';
 * import { Redis } from 'ioredis';
 * const store = new RedisStore({ client: new Redis() });
 * const limiter = createLimiter({ name: 'api', policies: [{ limit: 100, window: '1m' }], store });
 * const decision = await limiter.consume('user:42');
 */
export class RedisStore implements Store<true> {
  readonly async = true;
  readonly #client: RedisClient;
  readonly #prefix: string;

  /** @throws ArgumentError if the client or the prefix is none. Redis itself may be unreachable: nothing is sent yet. */
  constructor(options: RedisStoreOptions) {
    if (typeof options !== 'object' || options === null) {
      throw expected('ERR_SLUICE_OPTION', 'options', 'an object with a client', options);
    }
    refuseUnknown(options, ['client', 'prefix'], 'RedisStore', 'ERR_SLUICE_OPTION');
    const { client, prefix = 'rl' } = options;
    if (typeof client?.evalsha !== 'function' || typeof client.eval !== 'function') {
      throw expected('ERR_SLUICE_OPTION', 'client', 'an ioredis client (with evalsha and eval)', client);
    }
    if (typeof prefix !== 'string' || !/^[ -z|~]{1,64}$/.test(prefix)) {
      throw expected(
        'ERR_SLUICE_OPTION',
        'prefix',
        'up to 64 printable ASCII characters without braces',
        prefix,
      );
    }
    this.#client = client;
    this.#prefix = prefix;
  }

  open(name: string, policies: readonly ParsedPolicy[]): Table<true> {
    return new RedisTable(this.#client, this.#prefix, name, policies);
  }
}
