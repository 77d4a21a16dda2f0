/**
 * Sluice on Redis.
 *
 * @module
 */

export type { RedisClient } from './client.js';
export { fromNodeRedis, type NodeRedisClient } from './from-node-redis.js';
export { RedisStore, type RedisStoreOptions } from './redis-store.js';
export type { StoreStateEvent } from './script-runner.js';
