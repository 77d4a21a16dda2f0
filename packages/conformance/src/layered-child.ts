/**
 * One of several processes that share a limit by a layered store. It is told what to do by a message, and says what it was
 * admitted.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import {
  createLimiter,
  LayeredStore,
  type LayeredStoreOptions,
  type Policy,
  type Transport,
} from '@sluice/core';
import { RedisStore, redisTransport } from '@sluice/core/redis';
import { Redis } from 'ioredis';

/** One task: so many requests of one key, one every few milliseconds. */
export interface LayeredTask {
  readonly prefix: string;
  readonly name: string;
  readonly mode: Omit<LayeredStoreOptions, 'store' | 'transport'>;
  readonly policy: Policy;
  readonly requests: number;
  readonly everyMs: number;
}

/** What came of it. */
export interface LayeredResult {
  readonly admitted: number;
  readonly asked: number;
  /** In mode `gossip`: the longest from when this process admitted something until another had heard of it, about. */
  readonly untoldMs: number;
}

const client = new Redis({ port: Number(process.argv[2]), autoResendUnfulfilledCommands: false });
const subscriber = client.duplicate();

async function work({ prefix, name, mode, policy, requests, everyMs }: LayeredTask): Promise<LayeredResult> {
  const { transport, wayMs } = timed(redisTransport({ client, subscriber, channel: `${prefix}${name}` }));
  const shared = new RedisStore({ client, prefix, timeout: '20s' });
  const behind = mode.mode === 'gossip' ? {} : { store: shared };
  const store = new LayeredStore({ ...mode, ...behind, transport });
  const limiter = createLimiter({ name, policies: [policy], store, onStoreError: 'throw' });
  // Until the others listen, too.
  await sleep(200);
  const decisions = [];
  for (let i = 0; i < requests; i++) {
    decisions.push(limiter.consume('key'));
    await sleep(everyMs);
  }
  const admitted = (await Promise.all(decisions)).filter(({ allowed }) => allowed).length;
  const { asked } = store.counts;
  const untoldMs = (store.report()?.stalenessMs ?? 0) + wayMs();
  limiter.close();
  return { admitted, asked, untoldMs };
}

/** The transport, and the longest that a message has taken back to here so far. */
function timed(transport: Transport): { transport: Transport; wayMs(): number } {
  const sent = new Map<string, number>();
  let longestMs = 0;
  return {
    wayMs: () => Math.max(longestMs, ...[...sent.values()].map((at) => performance.now() - at)),
    transport: {
      publish(message) {
        sent.set(message, performance.now());
        return transport.publish(message);
      },
      subscribe(listener, ...rest) {
        const hear = (message: string) => {
          longestMs = Math.max(longestMs, performance.now() - (sent.get(message) ?? Infinity));
          sent.delete(message);
          listener(message);
        };
        return transport.subscribe(hear, ...rest);
      },
    },
  };
}

process.on('message', (task: LayeredTask) => {
  work(task).then(
    (result) => process.send?.(result),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit());
client.once('ready', () => process.send?.('ready'));
