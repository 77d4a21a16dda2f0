import { rateLimit } from '@sluice/express';
import express from 'express';
import { freePort } from '../../free-port.mjs';

const app = express();

app.use(rateLimit({ limit: 5, window: '10s' }));

app.get('/', (request, response) => {
  response.send(`Hello! ${request.rateLimit?.remaining} more are free.\n`);
});

const server = app.listen(await freePort(), '127.0.0.1', (error) => {
  if (error) throw error;
  const url = `http://127.0.0.1:${server.address().port}/`;
  console.log(`Express at ${url} admits five requests per client in ten seconds. Try six:`);
  console.log(`for i in $(seq 6); do curl -s -o /dev/null -w '%{http_code} ' ${url}; done; echo`);
});

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.close());
