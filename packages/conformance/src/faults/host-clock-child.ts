/**
 * A process whose clock is off: its first argument is the server's port, the second how many ms.
 *
 * @module
 */

import { createLimiter, type Policy } from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';
import { Redis } from 'ioredis';

/** So many requests at once. */
export interface Task {
  readonly name: string;
  readonly policy: Policy;
  readonly requests: number;
}

/** What came of them. */
export interface Result {
  readonly admitted: number;
  /** What a look at the key said afterwards. */
  readonly retryAfterMs: number;
  readonly resetMs: number;
}

const [port, skewMs] = process.argv.slice(2).map(Number);
const real = Date.now;
Date.now = () => real() + skewMs;

const client = new Redis({ host: '127.0.0.1', port, autoResendUnfulfilledCommands: false });

async function work({ name, policy, requests }: Task): Promise<Result> {
  const store = new RedisStore({ client, prefix: 'host-clock', timeout: '10s' });
  const limiter = createLimiter({ name, policies: [policy], store, onStoreError: 'throw' });
  const decisions = await Promise.all(Array.from({ length: requests }, () => limiter.consume('key')));
  const { retryAfterMs, resetMs } = await limiter.peek('key');
  limiter.close();
  return { admitted: decisions.filter(({ allowed }) => allowed).length, retryAfterMs, resetMs };
}

process.on('message', (task: Task) => {
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
