/**
 * Which servers the tests run on: said by each suite, and held against what was asked for.
 *
 * @module
 */

import { execFileSync } from 'node:child_process';
import { redisCommand, serverCommand } from './redis-server.js';

/** What the server says that it is, such as `valkey 8.1.1`. */
async function serverOn(port: number): Promise<string> {
  const info = await redisCommand(port, 'INFO', 'server');
  const field = (name: string) => new RegExp(`^${name}:(.+?)\r?$`, 'm').exec(info)?.[1];
  // Valkey also says which Redis it stands in for.
  const [name, version] = field('valkey_version')
    ? ['valkey', field('valkey_version')]
    : ['redis', field('redis_version')];
  return `${name} ${version}`;
}

/** What it must be: SLUICE_SERVER, such as `redis 8.0`; else whatever the program says without being started. */
function serverAskedFor(): string {
  if (process.env.SLUICE_SERVER) return process.env.SLUICE_SERVER;
  const [program, ...args] = serverCommand();
  const text = execFileSync(program, [...args, '--version'], { encoding: 'utf8' });
  const [, name, version] = /^(\w+) server v=([\d.]+)/i.exec(text) ?? [];
  return `${name?.toLowerCase()} ${version}`;
}

/** Belongs to every suite on Redis: it prints what it runs on, and fails on any other than was asked for. */
export function itRunsOnTheServerAskedFor(suite: string, ports: () => readonly number[]): void {
  it('runs on the server that was asked for', async () => {
    const servers = await Promise.all(ports().map(serverOn));
    process.stderr.write(`${suite}: ${servers.join(', ')}\n`);
    const asked = serverAskedFor();
    expect(servers.length).toBeGreaterThan(0);
    expect(servers.filter((server) => !`${server}.`.startsWith(`${asked}.`))).toEqual([]);
  });
}
