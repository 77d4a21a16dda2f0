/**
 * Sluice on Redis.
 *
 * @module
 */

export type { RedisClient } from './client.js';
export { fromNodeRedis, type NodeRedisClient } from './from-node-redis.js';
export { RedisStore, type RedisStoreOptions } from './redis-store.js';
export {
  type PublishingClient,
  type RedisTransportOptions,
  redisTransport,
  type SubscribingClient,
} from './redis-transport.js';
export type { StoreStateEvent } from './script-runner.js';
