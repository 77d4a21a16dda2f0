/**
 * What a server has been asked, by its own count.
 *
 * @module
 */

import { redisCommand } from '../redis-server.js';

/** Starts to count anew. */
export async function forgetCommands(port: number): Promise<void> {
  await redisCommand(port, 'CONFIG', 'RESETSTAT');
}

/** How often each command was called since {@link forgetCommands}, by clients and in scripts, but for the counting. */
export async function commandsOf(port: number): Promise<Record<string, number>> {
  const info = await redisCommand(port, 'INFO', 'commandstats');
  const calls = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(
    ([, name, count]) => [name, Number(count)] as const,
  );
  return Object.fromEntries(calls.filter(([name]) => name !== 'config|resetstat' && name !== 'info'));
}
