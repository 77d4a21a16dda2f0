/**
 * State in Redis, shared by every process that asks it.
 *
 * @module
 */

import { checkObject, refuseUnknown } from '../check.js';
import { parseDuration } from '../duration.js';
import { ArgumentError, expected } from '../errors.js';
import { perProcess } from '../per-process.js';
import type { Duration, Kinds, ParsedPolicy, Store, Table } from '../types.js';
import { isCluster, parseClient, type RedisClient, warnOfResending } from './client.js';
import { RedisTable } from './redis-table.js';
import { ScriptRunner, type StoreStateEvent } from './script-runner.js';
import { SpreadTable } from './spread-table.js';

const CODE = 'ERR_SLUICE_OPTION';

/** Timers cannot be set for longer. */
const LONGEST_TIMEOUT = 2 ** 31 - 2;

/** What a {@link RedisStore} is made of. */
export interface RedisStoreOptions {
  /** An ioredis or iovalkey client, single, Sentinel or Cluster. The store never closes it. */
  readonly client: RedisClient;
  /** What every key begins with, before a colon. Default `'rl'`. */
  readonly prefix?: string | undefined;
  /**
   * Whether keys lie on several nodes: then keys of different kinds are not one script call but one each. Default: what
   * the client says, which those of ioredis, iovalkey and `fromNodeRedis` do.
   */
  readonly cluster?: boolean | undefined;
  /** The time that Redis has for a decision. Default `'250ms'`. */
  readonly timeout?: Duration | undefined;
  /**
   * Called once when the store stops asking Redis, as it failed three times in a row (`state` is `'open'`, `error` the
   * last failure), and once when Redis serves again (`'closed'`).
   */
  readonly onStateChange?: ((event: StoreStateEvent) => void) | undefined;
}

/**
 * Keeps state in Redis 7 or later, or Valkey: one script and one round trip per decision, by the server's clock.
 *
 * A decision that takes longer than `timeout` rejects. After three failures in a row, Redis is asked again only every
 * half second, by a single request, until it answers; the others reject at once. What a limiter does then, its option
 * `onStoreError` says.
 *
 * @example
 * import { createLimiter } from '@sluice/core';
 * import { RedisStore } from '@sluice/core/redis';
 * import { Redis } from 'ioredis';
 * const client = new Redis({ autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 });
 * const store = new RedisStore({ client, timeout: '100ms' });
 * const limiter = createLimiter({ name: 'api', policies: [{ limit: 100, window: '1m' }], store });
 * const decision = await limiter.consume('user:42');
 */
export class RedisStore implements Store<true> {
  /** Its answers come by promise. */
  readonly async = true;
  /** On a cluster, those of one decision may lie on several nodes. */
  readonly takesKinds = true;
  /** The same for all stores of one client and prefix: their limiters would write the same keys. */
  readonly place: object;
  readonly #prefix: string;
  readonly #runner: ScriptRunner;
  readonly #cluster: boolean;

  /** @throws ArgumentError if an option is wrong. Redis itself may be unreachable: nothing is sent yet. */
  constructor(options: RedisStoreOptions) {
    checkObject(options, 'options', 'an object with a client', CODE);
    const { evalsha, evalSha } = options as unknown as Record<string, unknown>;
    if (typeof evalsha === 'function' || typeof evalSha === 'function') {
      throw new ArgumentError(CODE, 'Expected `options` to be an object such as { client }, got a client.');
    }
    refuseUnknown(options, ['client', 'prefix', 'cluster', 'timeout', 'onStateChange'], 'RedisStore', CODE);
    const { prefix = 'rl', timeout = 250, onStateChange } = options;
    const client = parseClient(options.client);
    if (typeof prefix !== 'string' || !/^[ -z|~]{1,64}$/.test(prefix)) {
      throw expected(CODE, 'prefix', 'up to 64 printable ASCII characters without braces', prefix);
    }
    const timeoutMs = parseDuration(timeout, 'timeout', CODE);
    if (timeoutMs > LONGEST_TIMEOUT) throw expected(CODE, 'timeout', 'at most 24 days', timeout);
    if (onStateChange !== undefined && typeof onStateChange !== 'function') {
      throw expected(CODE, 'onStateChange', 'a function', onStateChange);
    }
    const { cluster = isCluster(client) } = options;
    if (typeof cluster !== 'boolean') throw expected(CODE, 'cluster', 'true or false', cluster);
    warnOfResending(client);
    this.#cluster = cluster;
    this.place = placeOf(options.client, prefix);
    this.#prefix = prefix;
    this.#runner = new ScriptRunner(client, timeoutMs, onStateChange);
  }

  open(name: string, policies: readonly ParsedPolicy[], kinds?: Kinds): Table<true> {
    const table = new RedisTable(this.#runner, this.#prefix, name, policies, kinds);
    return kinds !== undefined && this.#cluster ? new SpreadTable(table, policies, kinds) : table;
  }
}

const newPlaces = () => new WeakMap<object, Map<string, object>>();

function placeOf(client: RedisClient, prefix: string): object {
  const places = perProcess('places', newPlaces);
  const byPrefix = places.get(client) ?? new Map<string, object>();
  places.set(client, byPrefix);
  const place = byPrefix.get(prefix) ?? {};
  byPrefix.set(prefix, place);
  return place;
}
