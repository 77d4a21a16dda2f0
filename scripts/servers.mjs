// Finds the servers that Sluice supports: on the PATH, in the cache, or in the packages of Debian's archive.
//
// The packages are unpacked, not installed. They bring their own C library, so they run on an older system too.

import { execFile } from 'node:child_process';
import { accessSync, constants, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { ifMain, root } from './run.mjs';

const execute = promisify(execFile);
const cache = join(root, 'node_modules', '.cache', 'sluice-servers');

/** The server is also the checker of its dumps: one program, which goes by the name that it is called by. */
const wanted = [
  { name: 'redis', version: '7.0', suite: 'bookworm', package: 'redis-tools', file: 'redis-check-rdb' },
  { name: 'redis', version: '8.0', suite: 'trixie', package: 'redis-tools', file: 'redis-check-rdb' },
  { name: 'valkey', version: '8.1', suite: 'trixie', package: 'valkey-tools', file: 'valkey-check-rdb' },
];

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const LOADERS = {
  amd64: ['x86_64-linux-gnu', 'ld-linux-x86-64.so.2'],
  arm64: ['aarch64-linux-gnu', 'ld-linux-aarch64.so.1'],
};

/**
 * Returns a server for each that is wanted: `name`, `version`, and either the `command` that starts it or, where it
 * could not be had, the sentence that says `why`.
 */
export async function findServers() {
  const servers = [];
  for (const server of wanted) {
    const { name, version } = server;
    try {
      servers.push({ name, version, command: (await onPath(server)) ?? (await unpacked(server)) });
    } catch (error) {
      servers.push({ name, version, why: (error.stderr || error.message).trim() });
    }
  }
  return servers;
}

async function onPath(server) {
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const file = join(folder, `${server.name}-server`);
    if (isProgram(file) && (await isVersion([file], server))) return [file];
  }
  return undefined;
}

async function unpacked(server) {
  const inCache = await commandIn(folderOf(server), server);
  if (await isVersion(inCache, server)) return inCache;
  await download(server);
  const fetched = await commandIn(folderOf(server), server);
  if (await isVersion(fetched, server)) return fetched;
  throw new Error(`${server.package} of Debian ${server.suite} is not ${server.name} ${server.version}.`);
}

function folderOf({ suite, package: name }) {
  return join(cache, `${suite}-${name}`);
}

async function commandIn(folder, { name, file }) {
  const { stdout } = await execute('dpkg', ['--print-architecture']);
  const [triplet, loader] = LOADERS[stdout.trim()] ?? [];
  if (triplet === undefined) throw new Error(`No server is known for the architecture ${stdout.trim()}.`);
  // Before trixie the C library was in /lib.
  const folders = [join(folder, 'usr', 'lib', triplet), join(folder, 'lib', triplet)];
  const program = folders.map((path) => join(path, loader)).find((path) => existsSync(path)) ?? loader;
  const options = ['--argv0', `${name}-server`, '--library-path', folders.join(':')];
  return [program, ...options, join(folder, 'usr', 'bin', file)];
}

async function isVersion([program, ...args], { version }) {
  try {
    const { stdout } = await execute(program, [...args, '--version']);
    return stdout.includes(` v=${version}.`);
  } catch {
    return false;
  }
}

/** Downloads the package with all that it needs, and unpacks it. */
async function download(server) {
  console.log(`Fetching ${server.name} ${server.version} from the packages of Debian ${server.suite}.`);
  const folder = folderOf(server);
  rmSync(folder, { recursive: true, force: true });
  const apt = join(folder, 'apt');
  for (const name of ['lists/partial', 'archives/partial']) mkdirSync(join(apt, name), { recursive: true });
  // Nothing counts as installed, so apt brings all that the package depends on.
  writeFileSync(join(apt, 'status'), '');
  await update(apt, server.suite);
  const install = ['-y', '--no-install-recommends', '--download-only', 'install', server.package];
  await aptGet(apt, ...install);
  const archives = join(apt, 'archives');
  for (const name of readdirSync(archives).filter((file) => file.endsWith('.deb'))) {
    await execute('dpkg', ['-x', join(archives, name), folder]);
  }
  rmSync(apt, { recursive: true, force: true });
}

/** Reads the package lists of the suite from the first mirror that has it, among those that apt uses already. */
async function update(apt, suite) {
  const { stdout } = await execute('apt-get', [
    'indextargets',
    '--format',
    '$(REPO_URI)',
    'Created-By: Packages',
  ]);
  const mirrors = [...new Set(stdout.split('\n').filter((line) => line !== ''))];
  const signedBy = existsSync(KEYRING) ? `[signed-by=${KEYRING}] ` : '';
  const errors = [new Error('apt uses no mirror.')];
  for (const mirror of mirrors) {
    writeFileSync(join(apt, 'sources.list'), `deb ${signedBy}${mirror} ${suite} main\n`);
    try {
      return await aptGet(apt, '--error-on=any', 'update');
    } catch (error) {
      errors.push(error);
    }
  }
  // What the main mirror said: the others have hardly the suite at all.
  throw errors[1] ?? errors[0];
}

/** Runs apt-get on files of its own: that of the system is neither read nor changed. */
function aptGet(apt, ...args) {
  const settings = {
    'Dir::State': apt,
    'Dir::State::Lists': join(apt, 'lists'),
    'Dir::State::status': join(apt, 'status'),
    'Dir::Cache': apt,
    'Dir::Cache::Archives': join(apt, 'archives'),
    'Dir::Etc::SourceList': join(apt, 'sources.list'),
    'Dir::Etc::SourceParts': '/dev/null',
    'APT::Sandbox::User': '',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  return execute('apt-get', ['-qq', ...options, ...args]);
}

function isProgram(file) {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Prints what can be had. Returns an exit code. */
async function list() {
  for (const { name, version, command, why } of await findServers()) {
    console.log(`${name} ${version}: ${command?.join(' ') ?? `could not be had: ${why}`}`);
  }
  return 0;
}

await ifMain(import.meta, list);
