import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, redisCommand, startCluster, startRedis } from '../redis-server.js';
import { type BadNetwork, startBadNetwork } from './bad-network.js';
import { clusters, type OpenClient, openSnippet, sentinels, singles } from './snippets.js';
import { isServed, limiterOn, untilServed } from './suite.js';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function closing<T extends OpenClient>(client: T): T {
  cleanups.push(() => client.close());
  return client;
}

async function redisOn(port?: number): Promise<RedisServer> {
  const server = await startRedis(port === undefined ? {} : { port });
  cleanups.push(() => server.stop());
  return server;
}

/** A port that nothing listens on, and that a server can have later. */
async function freePort(): Promise<number> {
  const server = await startRedis();
  await server.stop();
  return server.port;
}

/** Kills the server and starts another in its place; returns how many ms after that Redis decides again. */
async function restart(server: RedisServer, client: OpenClient, name: string): Promise<number> {
  const limiter = limiterOn(client, name);
  await untilServed(limiter);
  process.kill(server.pid, 'SIGKILL');
  await server.exited;
  // Long enough for several attempts to connect, so that a delay that grows would show.
  for (let i = 0; i < 15; i++) {
    expect(await isServed(limiter)).toBe(false);
    await sleep(100);
  }
  await redisOn(server.port);
  return untilServed(limiter);
}

describe.each(singles)('$title', (snippet) => {
  it('starts before Redis does, and decides within a second of it', async () => {
    const port = await freePort();
    const client = closing(await openSnippet(snippet, [port]));
    const limiter = limiterOn(client, 'early');
    for (let i = 0; i < 15; i++) {
      expect(await isServed(limiter)).toBe(false);
      await sleep(100);
    }
    await redisOn(port);
    expect(await untilServed(limiter)).toBeLessThan(1000);
  });

  it('decides again within a second of a restart', async () => {
    const server = await redisOn();
    const client = closing(await openSnippet(snippet, [server.port]));
    expect(await restart(server, client, 'restart')).toBeLessThan(1000);
  });
});

describe.each(sentinels)('$title', (snippet) => {
  it('decides again within a second of a restart of the master', async () => {
    const server = await redisOn();
    const config = `sentinel monitor main 127.0.0.1 ${server.port} 1`;
    const sentinel = await startRedis({ config, args: ['--sentinel'] });
    cleanups.push(() => sentinel.stop());
    const client = closing(await openSnippet(snippet, [sentinel.port]));
    expect(await restart(server, client, 'restart')).toBeLessThan(1000);
  });
});

describe.each(clusters)('$title', (snippet) => {
  it('decides again within a second of the loss of all connections', async () => {
    const cluster = await startCluster();
    cleanups.push(() => cluster.stop());
    const client = closing(await openSnippet(snippet, cluster.ports));
    const limiter = limiterOn(client, 'lost');
    await untilServed(limiter);
    for (const port of cluster.ports)
      await redisCommand(port, 'CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    expect(await untilServed(limiter)).toBeLessThan(1000);
  });
});

/** A proxy in front of each server. */
async function proxiesOf(ports: readonly number[]): Promise<BadNetwork[]> {
  const proxies = await Promise.all(ports.map(startBadNetwork));
  cleanups.push(() => Promise.all(proxies.map((proxy) => proxy.close())));
  return proxies;
}

/** A cluster that tells its clients to come by proxies. */
async function clusterBehindProxies(): Promise<BadNetwork[]> {
  const cluster = await startCluster();
  cleanups.push(() => cluster.stop());
  const proxies = await proxiesOf(cluster.ports);
  for (const [i, port] of cluster.ports.entries()) {
    await redisCommand(port, 'CONFIG', 'SET', 'cluster-announce-port', proxies[i].port);
  }
  for (const port of cluster.ports) await untilAnnounced(port, proxies);
  return proxies;
}

/** Waits until the node has heard of all the proxies: nodes tell each other now and then. */
async function untilAnnounced(port: number, proxies: readonly BadNetwork[]): Promise<void> {
  for (;;) {
    const known = await redisCommand(port, 'CLUSTER', 'NODES');
    if (proxies.every((proxy) => known.includes(`:${proxy.port}@`))) return;
    await sleep(50);
  }
}

describe.each([
  ...singles.map((snippet) => ({ ...snippet, start: async () => proxiesOf([(await redisOn()).port]) })),
  ...clusters.map((snippet) => ({ ...snippet, start: clusterBehindProxies })),
])('$title', ({ start, ...snippet }) => {
  it('does not send again what may have been charged', async () => {
    const proxies = await start();
    const ports = proxies.map((proxy) => proxy.port);
    const client = closing(await openSnippet(snippet, ports));
    const limiter = limiterOn(client, 'cut');
    await untilServed(limiter);
    for (const proxy of proxies) proxy.cutNextScript();
    await limiter.consume('key').catch(() => {});
    // Whoever sends it again does so when connected again, or a moment later to another node.
    await sleep(300);
    await untilServed(limiter);
    expect(proxies.some((proxy) => proxy.hasCut)).toBe(true);
    expect(await limiter.peek('key')).toMatchObject({ remaining: 99 });
  });

  it('connects again within three seconds where a server falls silent and its connection stays', async () => {
    const proxies = await start();
    const ports = proxies.map((proxy) => proxy.port);
    const client = closing(await openSnippet(snippet, ports));
    const limiter = limiterOn(client, 'silent');
    await untilServed(limiter);
    await sleep(1500);
    expect(await isServed(limiter)).toBe(true);
    for (const proxy of proxies) proxy.fallSilent();
    expect(await untilServed(limiter)).toBeLessThan(3000);
  });
});
