/**
 * The packages as pnpm packs them, installed into applications of their own.
 *
 * @module
 */

import { execFile } from 'node:child_process';
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { ensureBuilt } from '../built-packages.js';

const execute = promisify(execFile);
const root: string = join(__dirname, '../../../..');
/** The packages, by the names of their folders. */
export const names = ['core', 'express', 'fastify', 'koa'] as const;

/** What an application has besides: packages by the name of theirs here, where that is another. */
type Frameworks = Readonly<Record<'express' | 'fastify' | 'koa' | '@types/express' | '@types/koa', string>>;

/** An application that depends on all packages and on the frameworks. */
export interface Application {
  readonly folder: string;
  /** Writes a file of it. */
  write(file: string, text: string): void;
  /** Runs Node in it, and returns what that prints. Rejects if it fails, warns, or does not end by itself. */
  run(...args: string[]): Promise<string>;
  /** Compiles its TypeScript with these options, and returns what the compiler says. */
  compile(options: object): Promise<string>;
}

/** A folder with tarballs, to install from. */
export interface Tarballs {
  install(frameworks: Frameworks): Promise<Application>;
  /** Deletes all of it, the applications too. */
  dispose(): void;
}

/** Returns the packages, built and packed. */
export async function packPackages(): Promise<Tarballs> {
  await ensureBuilt();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'sluice-packed-')));
  const { packageManager } = readJson(join(root, 'package.json'));
  const filter = ['--filter', `./packages/{${names.join()}}`];
  await execute('npx', ['-y', packageManager, '-r', ...filter, 'pack', '--pack-destination', folder], {
    cwd: root,
  });
  let installed = 0;
  return {
    install: (frameworks) => {
      installed += 1;
      return install(folder, join(folder, `application-${installed}`), frameworks);
    },
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/**
 * Lays the application out as pnpm does: each package has a `node_modules` with what its manifest asks for and nothing
 * else. What is not ours is linked to where this workspace has it, so that no registry is asked.
 */
async function install(tarballs: string, folder: string, frameworks: Frameworks): Promise<Application> {
  const store = join(folder, 'node_modules', '.packages');
  const placeOf = (name: string) => join(store, name, 'node_modules');
  for (const name of names) {
    const at = join(placeOf(name), '@sluice', name);
    mkdirSync(at, { recursive: true });
    const tarball = readdirSync(tarballs).find((file) => file.startsWith(`sluice-${name}-`))!;
    await execute('tar', ['-xzf', join(tarballs, tarball), '-C', at, '--strip-components=1']);
    link(at, join(folder, 'node_modules', '@sluice', name));

    const { dependencies = {}, peerDependencies = {} } = readJson(join(at, 'package.json'));
    for (const [dependency, range] of Object.entries<string>(dependencies)) {
      if (range.includes(':')) throw new Error(`${name} asks for ${dependency}@${range}, which nobody has.`);
      const [, ours] = /^@sluice\/(.+)$/.exec(dependency) ?? [];
      const from = ours
        ? join(placeOf(ours), dependency)
        : join(root, 'packages', name, 'node_modules', dependency);
      link(from, join(placeOf(name), dependency));
    }
    for (const peer of Object.keys(peerDependencies)) {
      link(join(root, 'node_modules', frameworks[peer as keyof Frameworks]), join(placeOf(name), peer));
    }
  }
  for (const [name, here] of Object.entries({ ...frameworks, '@types/node': '@types/node' })) {
    link(join(root, 'node_modules', here), join(folder, 'node_modules', name));
  }
  return applicationIn(folder);
}

function applicationIn(folder: string): Application {
  // The processes are those of a user, not of Jest.
  const { NODE_ENV: _environment, NODE_OPTIONS: _options, ...env } = process.env;
  return {
    folder,
    write: (file, text) => writeFileSync(join(folder, file), text),
    run: async (...args) => {
      const { stdout, stderr } = await execute(process.execPath, args, { cwd: folder, env, timeout: 60_000 });
      if (stderr !== '') throw new Error(stderr);
      return stdout;
    },
    compile: async (compilerOptions) => {
      const config = { compilerOptions, include: ['*.ts', '*.mts', '*.cts'] };
      writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
      const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
      const ended = execute(process.execPath, [tsc, '-p', '.'], { cwd: folder });
      return ended.then(
        () => '',
        (error) => error.stdout || error.message,
      );
    },
  };
}

/** Symbolic links to real places: what is required is looked for from where it really is. */
function link(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true });
  symlinkSync(from.startsWith(root) ? realpathSync(from) : from, to, 'dir');
}

// biome-ignore lint/suspicious/noExplicitAny: a manifest is what its reader expects.
function readJson(file: string): any {
  return JSON.parse(readFileSync(file, 'utf8'));
}

/** Copies the scripts that use the packages into the application. */
export function copyScripts({ folder }: Application): void {
  cpSync(join(__dirname, 'scripts'), folder, { recursive: true });
}

/** Copies the TypeScript that uses these packages into the application, as modules that the extension makes of it. */
export function copyConsumers(
  { folder }: Application,
  packages: readonly (typeof names)[number][],
  extension: 'ts' | 'mts' | 'cts',
): void {
  for (const name of packages) {
    copyFileSync(join(__dirname, 'consumers', `${name}.ts`), join(folder, `${name}.${extension}`));
  }
}
