export {
  type ClusterOptions,
  type RedisCluster,
  type RedisOptions,
  type RedisServer,
  redisCommand,
  sharedServers,
  startCluster,
  startRedis,
} from './redis-server.js';
