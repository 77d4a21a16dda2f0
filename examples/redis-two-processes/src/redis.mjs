import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Returns the Redis of REDIS_URL, or starts one that keeps nothing and goes when it is told to. */
export async function openRedis() {
  if (process.env.REDIS_URL) return { url: process.env.REDIS_URL, close() {} };
  const port = await freePort();
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = spawn('redis-server', args, { stdio: ['ignore', 'pipe', 'inherit'] });
  server.once('error', () => {
    console.error(
      'There is no redis-server on the PATH. Install it, or give the URL of a Redis as REDIS_URL.',
    );
    process.exit(1);
  });
  for await (const chunk of server.stdout) if (String(chunk).includes('Ready to accept')) break;
  return { url: `redis://127.0.0.1:${port}`, close: () => server.kill() };
}

async function freePort() {
  const probe = createServer();
  await once(probe.listen(0, '127.0.0.1'), 'listening');
  const { port } = probe.address();
  probe.close();
  return port;
}
