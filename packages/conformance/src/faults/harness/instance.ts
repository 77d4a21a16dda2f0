/**
 * One instance of an application: a client, a store, and two limiters on it.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, type Limiter, type LimiterOptions, type Policy } from '@sluice/core';
import { type RedisClient, RedisStore } from '@sluice/core/redis';
import { Cluster, Redis } from 'ioredis';
import { type RedisServer, type RedisOptions as ServerOptions, startRedis } from '../../redis-server.js';
import { endAfterTest } from './owned.js';

/** The deadline of every store under test: the default. */
export const TIMEOUT_MS = 250;

/** 316 years: nothing comes back while a test runs, so what was used is exactly what was charged. */
const FOR_EVER = 1e13;

/** So much that nothing a test does uses it up: every denial is false. Two policies, to see that both are charged. */
const ROOMY: readonly Policy[] = [
  { name: 'window', algorithm: 'fixed-window', limit: 1_000_000, window: FOR_EVER },
  { name: 'bucket', algorithm: 'token-bucket', limit: 1_000_000, window: FOR_EVER },
];

/** So little that the load uses it up in no time. */
export const TIGHT_LIMIT = 50;
const TIGHT: readonly Policy[] = [{ algorithm: 'fixed-window', limit: TIGHT_LIMIT, window: FOR_EVER }];

const PREFIX = 'faults';

/** What differs between instances. */
export type Ladder = Pick<LimiterOptions<true>, 'onStoreError' | 'localShare'>;

export interface Instance {
  readonly roomy: Limiter<true>;
  readonly tight: Limiter<true>;
}

/** An instance on the client, with the default ladder: local decisions when Redis is away. */
export function openInstance(
  client: RedisClient,
  ladder: Ladder = {},
  timeout: number = TIMEOUT_MS,
): Instance {
  const store = new RedisStore({ client, prefix: PREFIX, timeout });
  return {
    roomy: createLimiter({ name: 'roomy', policies: ROOMY, store, ...ladder }),
    tight: createLimiter({ name: 'tight', policies: TIGHT, store, ...ladder }),
  };
}

/**
 * What the docs tell to set: nothing is sent twice, what was on its way fails with its connection (or else ioredis would
 * wait for it for ever, and with autopipelining for all that comes after), and a server that is back is found at once.
 */
export const CLIENT = {
  enableAutoPipelining: true,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: (): number => 50,
};

/** A client of the server at the port, until the test is over. */
export function connect(port: number, options: { enableOfflineQueue?: boolean } = {}): Redis {
  return kept(new Redis({ ...CLIENT, host: '127.0.0.1', port, ...options }));
}

/** A client whose connection errors say nothing that the test does not know, and that is gone when the test is over. */
export function kept<C extends Redis | Cluster>(client: C): C {
  client.on('error', () => {});
  endAfterTest(() => client.disconnect());
  return client;
}

/** A server that is gone when the test is over. */
export async function serve(options: ServerOptions = {}): Promise<RedisServer> {
  const server = await startRedis(options);
  endAfterTest(() => server.stop());
  return server;
}

/** The units that are charged to the key of a limiter, by the server's own account; the policies must agree. */
export async function charged(client: RedisClient, name: keyof Instance, key: string): Promise<number> {
  const decision = await patient(client, name).peek(key);
  const used = new Set(decision.policies.map(({ limit, remaining }) => limit - remaining));
  if (used.size > 1) throw new Error(`The policies differ in what was used: ${[...used].join(', ')}.`);
  return [...used][0];
}

/** Charges units to the key of a limiter. */
export async function charge(
  client: RedisClient,
  name: keyof Instance,
  key: string,
  units: number,
): Promise<void> {
  const { allowed } = await patient(client, name).consume(key, { cost: units });
  if (!allowed) throw new Error(`There are no ${units} units left.`);
}

/** Waits until Redis decides for the limiter. */
export async function decided(limiter: Limiter<true>): Promise<void> {
  for (let i = 0; (await limiter.peek('any')).degraded; i++) {
    if (i === 250) throw new Error('Redis does not decide, though it is well.');
    await sleep(20);
  }
}

/** A limiter beside those of the instances, as of another process, which waits for Redis as long as it takes. */
function patient(client: RedisClient, name: keyof Instance): Limiter<true> {
  const own = kept(
    client instanceof Cluster
      ? client.duplicate()
      : (client as Redis).duplicate({ enableOfflineQueue: true }),
  );
  const store = new RedisStore({ client: own, prefix: PREFIX, timeout: '10s' });
  const policies = name === 'roomy' ? ROOMY : TIGHT;
  return createLimiter({ name, policies, store, onStoreError: 'throw' });
}
