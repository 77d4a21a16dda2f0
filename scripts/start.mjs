// Installs and builds what is missing, then becomes the Express example.

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { root, run } from './run.mjs';
import { setup } from './setup.mjs';

const packages = ['core', 'express', 'fastify', 'koa'].map((name) => join(root, 'packages', name));
const example = join(root, 'examples', 'express');

function isBuilt(folder) {
  const built = join(folder, 'dist', 'index.mjs');
  return existsSync(built) && statSync(built).mtimeMs > newest(join(folder, 'src'));
}

function newest(folder) {
  const entries = readdirSync(folder, { recursive: true });
  return Math.max(...entries.map((name) => statSync(join(folder, name)).mtimeMs));
}

const failed = (await setup()) || (packages.every(isBuilt) ? 0 : await run('tsdown'));
if (failed) process.exit(failed);

// In this process, so that a Ctrl-C reaches the server once, and directly.
const { main } = JSON.parse(readFileSync(join(example, 'package.json'), 'utf8'));
process.chdir(example);
process.argv[1] = join(example, main);
await import(pathToFileURL(process.argv[1]).href);
