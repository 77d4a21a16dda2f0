import { startCluster, startRedis } from '../src/redis-server.ts';
import { servers } from './servers.ts';

export default async function setup(): Promise<void> {
  const [single, cluster] = await Promise.all([startRedis(), startCluster()]);
  servers.sluiceServers = [single, cluster];
  process.env.SLUICE_REDIS_PORT = String(single.port);
  process.env.SLUICE_CLUSTER_PORTS = cluster.ports.join(',');
}
