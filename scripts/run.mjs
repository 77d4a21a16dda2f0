// Runs one command in the root folder, with the tools of node_modules on the PATH.

import { spawn } from 'node:child_process';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('..', import.meta.url));

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Returns the exit code. The command gets no input, and the signals that this process gets. */
export function run(command, args = [], env = {}) {
  const PATH = [join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter);
  const child = spawn(command, args, {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: { ...process.env, PATH, ...env },
  });
  const forward = (signal) => child.kill(signal);
  for (const signal of SIGNALS) process.on(signal, forward);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => resolve(code ?? 1));
  }).finally(() => {
    for (const signal of SIGNALS) process.off(signal, forward);
  });
}

/** Calls `task` if the file of `meta` is the one that Node was told to run, and exits with the code it returns. */
export async function ifMain(meta, task) {
  if (process.argv[1] === fileURLToPath(meta.url)) process.exitCode = await task();
}
