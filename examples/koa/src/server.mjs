import { rateLimit } from '@sluice/koa';
import Koa from 'koa';
import { freePort } from '../../free-port.mjs';

const app = new Koa();

app.use(rateLimit({ limit: 5, window: '10s' }));

app.use((context) => {
  context.body = `Hello! ${context.state.rateLimit?.remaining} more are free.\n`;
});

const server = app.listen(await freePort(), '127.0.0.1', () => {
  const url = `http://127.0.0.1:${server.address().port}/`;
  console.log(`Koa at ${url} admits five requests per client in ten seconds. Try six:`);
  console.log(`for i in $(seq 6); do curl -s -o /dev/null -w '%{http_code} ' ${url}; done; echo`);
});

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => server.close());
