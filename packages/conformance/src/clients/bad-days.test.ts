import { setTimeout as sleep } from 'node:timers/promises';
import type { Limiter } from '@sluice/core';
import {
  type RedisCluster,
  type RedisOptions,
  type RedisServer,
  redisCommand,
  startCluster,
  startRedis,
} from '../redis-server.js';
import { type BadNetwork, startBadNetwork } from './bad-network.js';
import { clusters, type OpenClient, openSnippet, type Snippet, sentinels, singles } from './snippets.js';
import { isServed, limiterOn, untilServed } from './suite.js';

/** After so many ms a store gives up, by default. */
const TIMEOUT_MS = 250;

/** What a test has opened, to be closed after it. These tests mostly wait, and so run several at once. */
class Opened {
  readonly #closings: (() => unknown)[] = [];

  async client(snippet: Snippet, ports: readonly number[]): Promise<OpenClient> {
    const client = await openSnippet(snippet, ports);
    this.#closings.push(() => client.close());
    return client;
  }

  async redis(options: RedisOptions = {}): Promise<RedisServer> {
    const server = await startRedis(options);
    this.#closings.push(() => server.stop());
    return server;
  }

  async cluster(): Promise<RedisCluster> {
    const cluster = await startCluster();
    this.#closings.push(() => cluster.stop());
    return cluster;
  }

  /** A proxy in front of each server. */
  async proxies(ports: readonly number[]): Promise<BadNetwork[]> {
    const proxies = await Promise.all(ports.map(startBadNetwork));
    this.#closings.push(() => Promise.all(proxies.map((proxy) => proxy.close())));
    return proxies;
  }

  async close(): Promise<void> {
    for (const close of this.#closings.reverse()) await close();
  }
}

/** A test of each client, which closes what it has opened. Not grouped by client, as only tests of a group run at once. */
function itOpens<S extends Snippet>(
  snippets: readonly S[],
  name: string,
  test: (snippet: S, opened: Opened) => Promise<void>,
): void {
  it.concurrent.each(snippets)(`$title ${name}`, async (snippet) => {
    const opened = new Opened();
    try {
      await test(snippet, opened);
    } finally {
      await opened.close();
    }
  });
}

/** A port that nothing listens on, and that a server can have later. */
async function freePort(): Promise<number> {
  const server = await startRedis();
  await server.stop();
  return server.port;
}

/** Whether Redis decides without a connection being made anew, which fails at once; what fails late, a busy machine held up. */
async function isServedAtOnce(limiter: Limiter<true>): Promise<boolean> {
  const begun = performance.now();
  return (await isServed(limiter)) || (performance.now() - begun >= TIMEOUT_MS && isServed(limiter));
}

/** Kills the server and starts another in its place; returns how many ms after that Redis decides again. */
async function restart(server: RedisServer, client: OpenClient, opened: Opened): Promise<number> {
  const limiter = limiterOn(client, 'restart');
  await untilServed(limiter);
  process.kill(server.pid, 'SIGKILL');
  await server.exited;
  // Long enough for several attempts to connect, so that a delay that grows would show.
  for (let i = 0; i < 15; i++) {
    expect(await isServed(limiter)).toBe(false);
    await sleep(100);
  }
  await opened.redis({ port: server.port });
  return untilServed(limiter);
}

itOpens(singles, 'starts before Redis does, and decides within a second of it', async (snippet, opened) => {
  const port = await freePort();
  const client = await opened.client(snippet, [port]);
  const limiter = limiterOn(client, 'early');
  for (let i = 0; i < 15; i++) {
    expect(await isServed(limiter)).toBe(false);
    await sleep(100);
  }
  await opened.redis({ port });
  expect(await untilServed(limiter)).toBeLessThan(1000);
});

itOpens(singles, 'decides again within a second of a restart', async (snippet, opened) => {
  const server = await opened.redis();
  const client = await opened.client(snippet, [server.port]);
  expect(await restart(server, client, opened)).toBeLessThan(1000);
});

itOpens(sentinels, 'decides again within a second of a restart of the master', async (snippet, opened) => {
  const server = await opened.redis();
  const config = `sentinel monitor main 127.0.0.1 ${server.port} 1`;
  const sentinel = await opened.redis({ config, args: ['--sentinel'] });
  const client = await opened.client(snippet, [sentinel.port]);
  expect(await restart(server, client, opened)).toBeLessThan(1000);
});

itOpens(clusters, 'decides again within a second of the loss of all connections', async (snippet, opened) => {
  const cluster = await opened.cluster();
  const client = await opened.client(snippet, cluster.ports);
  const limiter = limiterOn(client, 'lost');
  await untilServed(limiter);
  for (const port of cluster.ports)
    await redisCommand(port, 'CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
  expect(await untilServed(limiter)).toBeLessThan(1000);
});

/** A cluster that tells its clients to come by proxies. */
async function clusterBehindProxies(opened: Opened): Promise<BadNetwork[]> {
  const cluster = await opened.cluster();
  const proxies = await opened.proxies(cluster.ports);
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

const behindProxies = [
  ...singles.map((snippet) => ({
    ...snippet,
    start: async (opened: Opened) => opened.proxies([(await opened.redis()).port]),
  })),
  ...clusters.map((snippet) => ({ ...snippet, start: clusterBehindProxies })),
];

itOpens(
  behindProxies,
  'does not send again what may have been charged',
  async ({ start, ...snippet }, opened) => {
    const proxies = await start(opened);
    const ports = proxies.map((proxy) => proxy.port);
    const client = await opened.client(snippet, ports);
    const limiter = limiterOn(client, 'cut');
    await untilServed(limiter);
    for (const proxy of proxies) proxy.cutNextScript();
    await limiter.consume('key').catch(() => {});
    // Whoever sends it again does so when connected again, or a moment later to another node.
    await sleep(300);
    await untilServed(limiter);
    expect(proxies.some((proxy) => proxy.hasCut)).toBe(true);
    expect(await limiter.peek('key')).toMatchObject({ remaining: 99 });
  },
);

itOpens(
  behindProxies,
  'connects again within three seconds where a server falls silent and its connection stays',
  async ({ start, ...snippet }, opened) => {
    const proxies = await start(opened);
    const ports = proxies.map((proxy) => proxy.port);
    const client = await opened.client(snippet, ports);
    const limiter = limiterOn(client, 'silent');
    await untilServed(limiter);
    await sleep(1500);
    expect(await isServedAtOnce(limiter)).toBe(true);
    for (const proxy of proxies) proxy.fallSilent();
    expect(await untilServed(limiter)).toBeLessThan(3000);
  },
);
