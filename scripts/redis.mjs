// Makes sure that there is a Redis server to run the tests on.

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { ifMain, run } from './run.mjs';

/** Returns an exit code. */
export async function ensureRedis() {
  if (isOnPath('redis-server') || isOnPath('valkey-server')) return 0;
  if (process.getuid?.() === 0 && isOnPath('apt-get')) {
    console.log('Installing redis-server with apt-get.');
    // RUNLEVEL: only the program is wanted, not a service on the usual port.
    const env = { DEBIAN_FRONTEND: 'noninteractive', RUNLEVEL: '1' };
    await run('apt-get', ['-qq', 'update'], env);
    await run('apt-get', ['-qq', 'install', '-y', '--no-install-recommends', 'redis-server'], env);
    if (isOnPath('redis-server')) return 0;
  }
  console.error('The tests need Redis: install redis-server (or valkey-server) so that it is on the PATH.');
  return 1;
}

function isOnPath(name) {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

await ifMain(import.meta, ensureRedis);
