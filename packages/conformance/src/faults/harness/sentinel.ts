/**
 * A master, a replica, and a Sentinel that promotes the one when the other is down.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type RedisServer, redisCommand } from '../../redis-server.js';
import { CLIENT, connect, kept, serve } from './instance.js';
import { endAfterTest } from './owned.js';

const WAIT_MS = 15_000;

export interface Trio {
  readonly master: RedisServer;
  readonly replica: RedisServer;
  readonly sentinel: RedisServer;
}

/** Starts the three, and waits until the replica is in step and the Sentinel knows it. They end with the test. */
export async function startTrio(): Promise<Trio> {
  // Or else the replica would wait five seconds for others to join it.
  const args = ['--repl-diskless-sync-delay', '0'];
  const master = await serve({ args });
  const replica = await serve({ args: [...args, '--replicaof', `127.0.0.1 ${master.port}`] });
  const config = [
    `sentinel monitor main 127.0.0.1 ${master.port} 1`,
    'sentinel down-after-milliseconds main 500',
    'sentinel failover-timeout main 5000',
  ];
  await until(replica.port, 'replication', 'master_link_status:up');
  const sentinel = await serve({ config: config.join('\n'), args: ['--sentinel'] });
  await until(sentinel.port, 'sentinel', 'slaves=1');
  return { master, replica, sentinel };
}

/** A client that asks the Sentinel where the master is, and keeps no commands while there is none. */
export function connectBySentinel({ sentinel }: Trio): Redis {
  const sentinels = [{ host: '127.0.0.1', port: sentinel.port }];
  return kept(
    new Redis({
      ...CLIENT,
      sentinels,
      name: 'main',
      sentinelRetryStrategy: () => 50,
      enableOfflineQueue: false,
    }),
  );
}

/** Waits until a section of INFO says so. */
export async function until(port: number, section: string, words: string): Promise<void> {
  for (let end = Date.now() + WAIT_MS; ; await sleep(10)) {
    const info = await redisCommand(port, 'INFO', section);
    if (info.includes(words)) return;
    if (Date.now() > end) throw new Error(`Waited for ${words}, got: ${info}`);
  }
}

/**
 * Writes to the master again and again, so that what the replica has of it tells how far it had come: replication is
 * one stream, and what the master did before the last beat that arrived has arrived as well.
 */
export class Heartbeat {
  /** When each beat was sent, by `performance.now()`. */
  readonly #sentMs: number[] = [];
  #stopped = false;

  constructor(port: number) {
    const client = connect(port);
    endAfterTest(() => this.stop());
    void this.#beat(client);
  }

  stop(): void {
    this.#stopped = true;
  }

  /** The instant up to which the server at the port knows everything. */
  async arrivedAt(port: number): Promise<number> {
    return this.#sentMs[Number(await redisCommand(port, 'GET', 'heartbeat'))];
  }

  async #beat(client: Redis): Promise<void> {
    while (!this.#stopped) {
      this.#sentMs.push(performance.now());
      await client.set('heartbeat', this.#sentMs.length - 1).catch(() => this.stop());
      await sleep(2);
    }
  }
}
