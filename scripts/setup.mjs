// Installs the node modules, if they are missing or not those of the lockfile.

import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ifMain, root, run } from './run.mjs';

const stamp = join(root, 'node_modules', '.installed');

/** Returns an exit code. */
export async function setup() {
  const wanted = fingerprint();
  if (isInstalled(wanted)) return 0;
  const { packageManager } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  // CI: pnpm asks no questions, as nobody can answer them.
  const code = await run('npx', ['-y', packageManager, 'install', '--frozen-lockfile'], { CI: 'true' });
  if (code === 0) writeFileSync(stamp, wanted);
  return code;
}

/** The lockfile, and the folder: some links in node_modules are absolute. */
function fingerprint() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'pnpm-lock.yaml')))
    .update(root)
    .digest('hex');
}

function isInstalled(wanted) {
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== wanted) return false;
  return workspaces().every((folder) => existsSync(join(folder, 'node_modules')));
}

/** The folders of the workspace that have dependencies, so that pnpm gives them a node_modules. */
function workspaces() {
  return ['packages', 'examples']
    .map((name) => join(root, name))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((folder) => existsSync(join(folder, 'package.json')))
    .filter((folder) => {
      const { dependencies, devDependencies } = JSON.parse(
        readFileSync(join(folder, 'package.json'), 'utf8'),
      );
      return Object.keys({ ...dependencies, ...devDependencies }).length > 0;
    });
}

await ifMain(import.meta, setup);
