export { adapterSuite } from './http/adapter-suite.js';
export { type Adapter, bodiesOf, listen, optionsFor, type Start } from './http/demo.js';
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
