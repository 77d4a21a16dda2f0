// One of the two servers. Its limiter has the same name, the same policy and the same Redis as the other's.

import { RedisStore } from '@sluice/core/redis';
import { rateLimit } from '@sluice/express';
import express from 'express';
import { Redis } from 'ioredis';

const { REDIS_URL, LIMITER, LIMIT } = process.env;

const client = new Redis(REDIS_URL, { autoResendUnfulfilledCommands: false, maxRetriesPerRequest: 0 });
// A decision that takes longer is made without Redis.
const store = new RedisStore({ client, timeout: '2s' });

const app = express();
app.use(rateLimit({ name: LIMITER, limit: Number(LIMIT), window: '1m', store }));
app.get('/', (_request, response) => {
  response.send('Hello!\n');
});

const server = app.listen(0, '127.0.0.1', (error) => {
  if (error) throw error;
  process.send(server.address().port);
});

// The other process is gone, for whatever reason.
process.once('disconnect', () => process.exit());
