/**
 * Real Redis servers for tests: on free loopback ports, without persistence, and gone when the process that
 * started them is gone.
 *
 * This file imports nothing of the repository, so that Jest can load it before its own module mapping exists.
 *
 * @module
 */

import { type ChildProcess, spawn } from 'node:child_process';
import {
  accessSync,
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { rm } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const HOST = '127.0.0.1';
const START_MS = 15_000;
const SLOTS = 16_384;

/** How a server is started. */
export interface RedisOptions {
  /** The port to listen on: that of a server that was killed, for example. Default: a free one. */
  port?: number;
  /** The program and its first arguments. Default: {@link serverCommand}. */
  command?: readonly string[];
  /** More arguments, such as `['--maxmemory', '2mb']`. They come last and win. */
  args?: readonly string[];
  /** Lines of a configuration file, for a server that wants one: a Sentinel keeps its state in it. */
  config?: string;
}

/** A running server. */
export interface RedisServer {
  readonly port: number;
  readonly pid: number;
  /** Fulfilled when the process has ended, for whatever reason, and its files are deleted. */
  readonly exited: Promise<void>;
  /** Ends the process, also a suspended one, and deletes its files. May be called again. */
  stop(): Promise<void>;
}

/** How a cluster is started. */
export interface ClusterOptions {
  /** How many masters share the slots. Default 3. */
  size?: number;
  command?: readonly string[];
  args?: readonly string[];
}

/** A running cluster of masters. */
export interface RedisCluster {
  readonly nodes: readonly RedisServer[];
  readonly ports: readonly number[];
  readonly pids: readonly number[];
  stop(): Promise<void>;
}

/**
 * Starts one server and waits until it answers.
 *
 * @throws Error with what the server printed, if it does not come up.
 */
export async function startRedis(options: RedisOptions = {}): Promise<RedisServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await launch(options.port ?? (await freePort()), options);
    } catch (error) {
      // A port that was free a moment ago may have been taken by another process.
      const taken = /address already in use|failed listening/i.test(String(error));
      if (!taken || options.port !== undefined || attempt === 5) throw error;
    }
  }
}

/** Starts a cluster and waits until all its nodes serve: about two seconds, before which Redis itself refuses. */
export async function startCluster(options: ClusterOptions = {}): Promise<RedisCluster> {
  const { size = 3, args = [], ...rest } = options;
  const node = { ...rest, args: ['--cluster-enabled', 'yes', '--cluster-node-timeout', '5000', ...args] };
  const results = await Promise.allSettled(Array.from({ length: size }, () => startRedis(node)));
  const nodes = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  const stop = async () => {
    await Promise.all(nodes.map((server) => server.stop()));
  };
  try {
    for (const result of results) if (result.status === 'rejected') throw result.reason;
    const ports = nodes.map((server) => server.port);
    await joinCluster(ports);
    return { nodes, ports, pids: nodes.map((server) => server.pid), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The servers that the test run started for all test files: one single, and one cluster of three. */
export function sharedServers(): { port: number; clusterPorts: number[] } {
  const { SLUICE_REDIS_PORT, SLUICE_CLUSTER_PORTS } = process.env;
  if (!SLUICE_REDIS_PORT || !SLUICE_CLUSTER_PORTS)
    throw new Error('Run this with Jest from the root folder.');
  return { port: Number(SLUICE_REDIS_PORT), clusterPorts: SLUICE_CLUSTER_PORTS.split(',').map(Number) };
}

/**
 * Sends one command over a connection of its own and returns the answer as text; an error reply is returned too,
 * with its leading `-`. No client library, so that the tests of one cannot depend on it.
 */
export function redisCommand(port: number, ...parts: (string | number)[]): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = createConnection({ host: HOST, port });
    let reply = '';
    socket.setTimeout(2000, () => socket.destroy(new Error(`Redis on port ${port} does not answer.`)));
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`Redis on port ${port} closed the connection.`)));
    socket.on('data', (chunk) => {
      reply += chunk.toString('latin1');
      const text = parseReply(reply);
      if (text === undefined) return;
      resolve(text);
      socket.destroy();
    });
    const bulk = parts.map((part) => `$${Buffer.byteLength(String(part))}\r\n${part}\r\n`);
    socket.write(`*${parts.length}\r\n${bulk.join('')}`);
  });
}

/** Returns the text of a simple, error, number or bulk reply, or nothing while it is incomplete. */
function parseReply(reply: string): string | undefined {
  const end = reply.indexOf('\r\n');
  if (end < 0) return undefined;
  const head = reply.slice(0, end);
  if (head[0] === '-') return head;
  if (head[0] !== '$') return head.slice(1);
  const length = Number(head.slice(1));
  const body = reply.slice(end + 2);
  if (length < 0) return '';
  return body.length < length + 2 ? undefined : body.slice(0, length);
}

async function launch(port: number, options: RedisOptions): Promise<RedisServer> {
  const [program, ...first] = options.command ?? serverCommand();
  const dir = mkdtempSync(join(tmpdir(), 'sluice-redis-'));
  const log = join(dir, 'server.log');
  const configFile = join(dir, 'server.conf');
  if (options.config !== undefined) writeFileSync(configFile, `${options.config}\n`);

  const output = openSync(log, 'a');
  const child = spawn(
    program as string,
    [
      ...first,
      ...(options.config === undefined ? [] : [configFile]),
      ...['--port', String(port), '--bind', HOST, '--dir', dir, '--daemonize', 'no'],
      ...['--save', '', '--appendonly', 'no', '--loglevel', 'warning'],
      ...(options.args ?? []),
    ],
    { stdio: ['ignore', output, output] },
  );
  closeSync(output);
  const watchdog = watch(child, dir);

  let printed = '';
  const exited = new Promise<void>((resolve) => {
    child.once('error', (error) => {
      printed = error.message;
      resolve();
    });
    child.once('exit', () => resolve());
  }).then(async () => {
    printed ||= readFileSync(log, 'utf8').trim();
    watchdog.dismiss();
    await rm(dir, { recursive: true, force: true });
  });
  const stop = () => {
    child.ref();
    // Nothing is kept, so nothing needs a farewell; and no other signal ends a suspended process.
    child.kill('SIGKILL');
    return exited;
  };

  const up = await Promise.race([answers(port, child), exited.then(() => false)]);
  if (!up) {
    await stop();
    throw new Error(`${program} did not start on port ${port}: ${printed || 'it printed nothing.'}`);
  }
  // A test that forgets to stop its server must not keep the test runner waiting.
  child.unref();
  return { port, pid: child.pid as number, exited, stop };
}

/**
 * Kills the server and deletes its files if this process ends in a way that runs no code, SIGKILL included: the
 * shell's `read` fails when the other end of its pipe is closed. It has a session of its own to outlive a Ctrl-C.
 */
function watch(child: ChildProcess, dir: string): { dismiss(): void } {
  if (child.pid === undefined) return { dismiss() {} };
  const script = 'read -r _ || { kill -9 "$1"; rm -rf "$2"; }';
  const shell = spawn('sh', ['-c', script, 'sh', String(child.pid), dir], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  shell.on('error', () => {});
  shell.stdin.on('error', () => {});
  shell.unref();
  (shell.stdin as unknown as Socket).unref();
  return { dismiss: () => void shell.stdin.end('dismissed\n') };
}

/** Waits until the server answers on its port; false if it has not in time. */
async function answers(port: number, child: ChildProcess): Promise<boolean> {
  const end = Date.now() + START_MS;
  while (Date.now() < end && child.exitCode === null && child.pid !== undefined) {
    const reply = await redisCommand(port, 'INFO', 'server').catch(() => '');
    // The process id tells it from a stranger on the same port; one with a password tells nothing.
    if (reply.includes(`process_id:${child.pid}\r`) || reply.startsWith('-NOAUTH')) return true;
    await sleep(10);
  }
  return false;
}

async function joinCluster(ports: readonly number[]): Promise<void> {
  await Promise.all(
    ports.map(async (port, index) => {
      const from = Math.floor((SLOTS * index) / ports.length);
      const to = Math.floor((SLOTS * (index + 1)) / ports.length);
      const slots = Array.from({ length: to - from }, (_, offset) => from + offset);
      await demandOk(port, 'CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
      await demandOk(port, 'CLUSTER', 'ADDSLOTS', ...slots);
    }),
  );
  for (const port of ports.slice(1)) await demandOk(ports[0] as number, 'CLUSTER', 'MEET', HOST, port);

  const end = Date.now() + START_MS;
  for (const port of ports) {
    for (;;) {
      const info = await redisCommand(port, 'CLUSTER', 'INFO');
      if (info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${ports.length}\r`)) break;
      if (Date.now() > end) throw new Error(`The cluster did not form: ${info}`);
      await sleep(20);
    }
  }
}

async function demandOk(port: number, ...parts: (string | number)[]): Promise<void> {
  const reply = await redisCommand(port, ...parts);
  if (reply !== 'OK') throw new Error(`${parts[0]} ${parts[1]} on port ${port}: ${reply}`);
}

/** The program and its first arguments: a JSON list in SLUICE_REDIS_COMMAND, or what is on the PATH. */
export function serverCommand(): readonly string[] {
  const { SLUICE_REDIS_COMMAND } = process.env;
  return SLUICE_REDIS_COMMAND ? JSON.parse(SLUICE_REDIS_COMMAND) : [findServer()];
}

function findServer(): string {
  for (const name of ['redis-server', 'valkey-server']) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      const file = join(folder, name);
      try {
        accessSync(file, constants.X_OK);
        return file;
      } catch {
        // Not here.
      }
    }
  }
  throw new Error('Neither redis-server nor valkey-server is on the PATH; install one of them.');
}

/**
 * Returns a port that is free together with the one 10,000 above it, which a cluster node uses as well. Both lie
 * below the range from which outgoing connections get theirs, so a port stays free while its server is restarted.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 12_000);
    if ((await isFree(port)) && (await isFree(port + 10_000))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen(port, HOST, () => probe.close(() => resolve(true)));
  });
}
