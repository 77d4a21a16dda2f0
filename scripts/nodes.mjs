// Finds the versions of Node that Sluice supports: the one that runs, those in the cache, or those in the registry of npm.

import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ifMain, root } from './run.mjs';

const execute = promisify(execFile);
const cache = join(root, 'node_modules', '.cache', 'sluice-nodes');

/** Those of which Node's own project takes care, and the oldest that the packages name. */
const wanted = [20, 22, 24];

/**
 * Returns one for each that is wanted: `major`, and either `version` and the `program` or, where it could not be had,
 * the sentence that says `why`.
 */
export async function findNodes() {
  const nodes = [];
  for (const major of wanted) {
    try {
      const program = isVersion(process.version, major) ? process.execPath : await cached(major);
      const { stdout } = await execute(program, ['--version']);
      if (!isVersion(stdout, major)) throw new Error(`${program} is ${stdout.trim()}.`);
      nodes.push({ major, version: stdout.trim(), program });
    } catch (error) {
      nodes.push({ major, why: (error.stderr || error.message).trim() });
    }
  }
  return nodes;
}

const isVersion = (version, major) => version.startsWith(`v${major}.`);

/** The packages bring the program itself; that of all systems, `node`, would install them by a script of its own. */
async function cached(major) {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = join(cache, String(major));
  const program = join(folder, 'node_modules', name, 'bin', 'node');
  if (existsSync(program)) return program;
  console.log(`Fetching Node ${major} from the registry of npm.`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{}');
  await execute('npm', ['install', '--no-save', '--ignore-scripts', `${name}@${major}`], { cwd: folder });
  return program;
}

/** Prints what can be had. Returns an exit code. */
async function list() {
  for (const { major, program, why } of await findNodes()) {
    console.log(`Node ${major}: ${program ?? `could not be had: ${why}`}`);
  }
  return 0;
}

await ifMain(import.meta, list);
