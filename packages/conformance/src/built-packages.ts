/**
 * The packages as users install them.
 *
 * @module
 */

import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const root: string = join(__dirname, '../../..');
/** A folder, because making one is atomic: test files run side by side, and a build empties what another one reads. */
const lock: string = join(root, 'node_modules', '.building');
const LONGEST_BUILD_MS = 60_000;

/** One entry of a package: what is imported, where its source is, and what the build made of it. */
export interface BuiltEntry {
  readonly specifier: string;
  readonly source: string;
  readonly modules: { readonly import: string; readonly require: string };
  readonly types: { readonly import: string; readonly require: string };
}

interface Conditions {
  readonly types: string;
  readonly default: string;
}

interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly exports: Readonly<Record<string, string | Readonly<Record<'import' | 'require', Conditions>>>>;
}

/** Returns every entry of every package that is published, as its `exports` name them. */
export function builtEntries(): BuiltEntry[] {
  return published().flatMap(({ folder, manifest }) =>
    Object.entries(manifest.exports).flatMap(([path, target]) => {
      if (typeof target === 'string') return [];
      const at = (file: string) => join(folder, file);
      return {
        specifier: manifest.name + path.slice(1),
        source: join(folder, 'src', path, 'index.ts'),
        modules: { import: at(target.import.default), require: at(target.require.default) },
        types: { import: at(target.import.types), require: at(target.require.types) },
      };
    }),
  );
}

/**
 * Builds the packages, unless all of them were built after their source was last touched.
 *
 * @throws Error with what the build printed, if it fails.
 */
export async function ensureBuilt(): Promise<void> {
  while (!isBuilt()) {
    if (!takeLock()) {
      await sleep(100);
      continue;
    }
    try {
      const { status, stderr } = spawnSync(join(root, 'node_modules/.bin/tsdown'), {
        cwd: root,
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(stderr);
    } finally {
      rmSync(lock, { recursive: true });
    }
  }
}

/** One that was left behind by a process that was killed does not count. */
function takeLock(): boolean {
  try {
    mkdirSync(lock);
    return true;
  } catch {
    const since = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
    if (Date.now() - since > LONGEST_BUILD_MS) rmSync(lock, { recursive: true, force: true });
    return false;
  }
}

function isBuilt(): boolean {
  if (existsSync(lock)) return false;
  const oldest = Math.min(...builtEntries().map(({ modules }) => touched(modules.import)));
  const sources = published().flatMap(({ folder }) =>
    (readdirSync(join(folder, 'src'), { recursive: true }) as string[]).map((file) =>
      join(folder, 'src', file),
    ),
  );
  return oldest > Math.max(...[...sources, join(root, 'tsdown.config.mjs')].map(touched));
}

/** When the file was written, in ms since the epoch; 0 if there is none. */
function touched(file: string): number {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function published(): { folder: string; manifest: Manifest }[] {
  return readdirSync(join(root, 'packages'))
    .map((name) => join(root, 'packages', name))
    .map((folder) => ({ folder, manifest: JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) }))
    .filter(({ manifest }) => manifest.private !== true);
}
