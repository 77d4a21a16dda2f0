// What must be there before anything is measured: the tools, the built packages, a Redis server, the peers.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureRedis } from '../../scripts/redis.mjs';
import { root, run } from '../../scripts/run.mjs';
import { setup } from '../../scripts/setup.mjs';

const bench = join(root, 'bench');

/** Returns an exit code. */
export async function prepare() {
  return (await setup()) || (await build()) || (await ensureRedis()) || (await installPeers());
}

/** What is measured is what would be published, so it is built whenever the source is newer. */
async function build() {
  for (const name of ['core', 'express', 'fastify', 'koa']) {
    const folder = join(root, 'packages', name);
    const built = join(folder, 'dist', 'index.mjs');
    if (existsSync(built) && statSync(built).mtimeMs > newest(join(folder, 'src'))) continue;
    const code = await run('tsdown', ['--filter', `packages/${name}`]);
    if (code) return code;
  }
  return 0;
}

function newest(folder) {
  const entries = readdirSync(folder, { recursive: true });
  return Math.max(...entries.map((name) => statSync(join(folder, name)).mtimeMs));
}

/** The peers are no part of the workspace: nobody who only runs the tests should have to install them. */
async function installPeers() {
  const stamp = join(bench, 'node_modules', '.installed');
  const lock = readFileSync(join(bench, 'package-lock.json'));
  const wanted = createHash('sha256').update(lock).digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return 0;
  const code = await run('npm', ['ci', '--prefix', bench, '--loglevel', 'error']);
  if (code === 0) writeFileSync(stamp, wanted);
  return code;
}
