// Starts two servers, sends requests to both in turn, and counts what they admit.

import { fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { openRedis } from './redis.mjs';

const LIMIT = 10;
const REQUESTS = 30;

const redis = await openRedis().catch(() => {
  console.error(
    'Install redis-server so that it is on the PATH, or give the address of a Redis as REDIS_URL.',
  );
  process.exit(1);
});
console.log(`Redis is at ${redis.url}`);
// A name of its own for every run, so that a Redis that is kept has not seen it yet.
const env = { ...process.env, REDIS_URL: redis.url, LIMITER: `demo-${randomUUID()}`, LIMIT: String(LIMIT) };
const servers = ['A', 'B'].map((name) => ({
  name,
  process: fork(fileURLToPath(new URL('server.mjs', import.meta.url)), { env }),
  admitted: 0,
}));

function stop() {
  for (const server of servers) server.process.kill();
  redis.close();
}
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.once(signal, () => {
    stop();
    process.exit();
  });
}

try {
  for (const server of servers) {
    const [port] = await once(server.process, 'message');
    server.url = `http://127.0.0.1:${port}/`;
    console.log(`Server ${server.name} is process ${server.process.pid} at ${server.url}`);
  }

  for (let i = 0; i < REQUESTS; i++) {
    const server = servers[i % 2];
    const { status } = await fetch(server.url);
    if (status === 200) server.admitted += 1;
    console.log(`request ${i + 1} to ${server.name}: ${status}`);
  }

  const [a, b] = servers;
  const together = a.admitted + b.admitted;
  console.log(
    `A admitted ${a.admitted}, B admitted ${b.admitted}: together ${together}. The limit is ${LIMIT}.`,
  );
  if (together !== LIMIT) process.exitCode = 1;
} finally {
  stop();
}
