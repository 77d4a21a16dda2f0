import { rateLimit } from '@sluice/fastify';
import Fastify from 'fastify';
import { freePort } from '../../free-port.mjs';

const app = Fastify();

await app.register(rateLimit, { limit: 5, window: '10s' });

app.get('/', (request) => `Hello! ${request.rateLimit?.remaining} more are free.\n`);

app.get('/report', { config: { rateLimit: { limit: 1 } } }, () => 'Slow to make, so only one per client.\n');

const url = `${await app.listen({ port: await freePort(), host: '127.0.0.1' })}/`;
console.log(`Fastify at ${url} admits five requests per client in ten seconds. Try six:`);
console.log(`for i in $(seq 6); do curl -s -o /dev/null -w '%{http_code} ' ${url}; done; echo`);

for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => app.close());
