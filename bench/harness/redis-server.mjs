// A Redis server of its own: on a free port of the loopback interface, without persistence, gone afterwards.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

/** Starts a server, lets `use` work with it, and stops it. */
export async function withRedis(use) {
  const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const port = await freePort();
  const settings = { port, bind: '127.0.0.1', dir, save: '', appendonly: 'no', loglevel: 'warning' };
  const args = Object.entries(settings).flatMap(([key, value]) => [`--${key}`, String(value)]);
  const server = await launch(['redis-server', 'valkey-server'], args);
  const kill = () => server.kill();
  process.once('exit', kill);
  let admin;
  try {
    await listening(port, server);
    admin = new Redis({ host: '127.0.0.1', port });
    return await use({ port, admin });
  } finally {
    admin?.disconnect();
    process.off('exit', kill);
    if (server.exitCode === null && server.signalCode === null) {
      server.kill();
      await once(server, 'exit');
    }
    rmSync(dir, { recursive: true, force: true });
  }
}

async function launch([program, ...others], args) {
  const server = spawn(program, args, { stdio: 'ignore' });
  try {
    await once(server, 'spawn');
    return server;
  } catch (error) {
    if (others.length === 0) throw error;
    return launch(others, args);
  }
}

async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address();
  probe.close();
  await once(probe, 'close');
  return port;
}

async function listening(port, server) {
  for (let i = 0; i < 200; i++) {
    if (server.exitCode !== null) throw new Error(`The Redis server ended with ${server.exitCode}.`);
    const socket = connect(port, '127.0.0.1');
    try {
      await once(socket, 'connect');
      return;
    } catch {
      await sleep(50);
    } finally {
      socket.destroy();
    }
  }
  throw new Error('The Redis server does not listen.');
}

/** The CPU time that the server has taken, in microseconds. */
export async function cpuMicros(admin) {
  const info = await admin.info('cpu');
  const [user, system] = ['user', 'sys'].map((kind) =>
    Number(info.match(new RegExp(`^used_cpu_${kind}:([\\d.]+)`, 'm'))[1]),
  );
  return (user + system) * 1e6;
}

/** Calls and time by command since the last `CONFIG RESETSTAT`. What a script calls is counted too. */
export async function commandStats(admin) {
  const info = await admin.info('commandstats');
  const stats = {};
  for (const [, name, calls, usec] of info.matchAll(/^cmdstat_([^:]+):calls=(\d+),usec=(\d+)/gm)) {
    stats[name] = { calls: Number(calls), usec: Number(usec) };
  }
  return stats;
}
