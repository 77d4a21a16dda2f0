import type { RedisCluster, RedisServer } from '../src/redis-server.ts';

/** Set-up and tear-down run in one process, and share nothing but its global object. */
export const servers = globalThis as { sluiceServers?: readonly (RedisServer | RedisCluster)[] };
