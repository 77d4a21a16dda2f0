// One of several processes that share a limit on one Redis: sends requests of one key at a rate, and counts.

import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createLimiter, LayeredStore } from '../../packages/core/dist/index.mjs';
import { RedisStore, redisTransport } from '../../packages/core/dist/redis/index.mjs';

export async function open(_, { port }) {
  const client = new Redis({ port, autoResendUnfulfilledCommands: false });
  const subscriber = client.duplicate();
  await Promise.all([client.ping(), subscriber.ping()]);
  const transport = redisTransport({ client, subscriber });
  return {
    /** Sends `perSecond` requests until `untilMs`, evenly. Returns what came of them. */
    async send({ name, mode, policy, perSecond, fromMs, untilMs }) {
      const behind =
        mode.mode === 'gossip' ? { transport } : { store: new RedisStore({ client, timeout: '5s' }) };
      const store = new LayeredStore({ ...mode, ...behind });
      const limiter = createLimiter({ name, policies: [policy], store, onStoreError: 'throw' });
      const pending = [];
      let admitted = 0;
      let sent = 0;
      await sleep(fromMs - Date.now());
      while (Date.now() < untilMs) {
        for (const due = ((Date.now() - fromMs) * perSecond) / 1000; sent < due; sent++) {
          pending.push(limiter.consume('key').then(({ allowed }) => (admitted += allowed ? 1 : 0)));
        }
        if (pending.length > 1000) await Promise.all(pending.splice(0));
        await sleep(1);
      }
      await Promise.all(pending);
      limiter.close();
      return { sent, admitted, ...store.counts };
    },
  };
}
