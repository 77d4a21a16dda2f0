import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';

/** Returns the Redis of REDIS_URL, or starts one that keeps nothing and goes when it is told to. */
export async function openRedis() {
  const { REDIS_URL } = process.env;
  if (REDIS_URL) return { url: REDIS_URL, close() {} };
  const port = await freePort();
  const server = await start('redis-server', port).catch(() => start('valkey-server', port));
  for await (const chunk of server.stdout) if (String(chunk).includes('Ready to accept')) break;
  return { url: `redis://127.0.0.1:${port}`, close: () => server.kill() };
}

async function start(program, port) {
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', '--appendonly', 'no'];
  const server = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(server, 'spawn');
  return server;
}

async function freePort() {
  const probe = createServer();
  await once(probe.listen(0, '127.0.0.1'), 'listening');
  const { port } = probe.address();
  probe.close();
  return port;
}
