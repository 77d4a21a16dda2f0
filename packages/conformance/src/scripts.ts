/**
 * Child processes that run a TypeScript file of this folder, with the product in it as it stands in the source.
 *
 * @module
 */

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildSync } from 'esbuild';

/** A script, ready to be started any number of times. */
export interface Script {
  /** Starts it in a process of its own, which can send messages and be sent some; `env` is set besides what is. */
  start(args?: readonly string[], env?: Readonly<Record<string, string>>): ChildProcess;
  /** Deletes what was built. */
  dispose(): void;
}

/** Builds `<name>.ts`, which may be in a folder of this one, into one file. */
export function buildScript(name: string): Script {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-script-'));
  const file = join(folder, `${name}.cjs`);
  buildSync({
    entryPoints: [join(__dirname, `${name}.ts`)],
    outfile: file,
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    logLevel: 'error',
    tsconfig: join(__dirname, '..', '..', '..', 'tsconfig.json'),
  });
  return {
    start: (args = [], env = {}) =>
      // Advanced, because JSON has no Infinity.
      fork(file, [...args], {
        execArgv: [],
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
        serialization: 'advanced',
      }),
    dispose: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The next message that the process sends. */
export function message<T>(child: ChildProcess): Promise<T> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null) => reject(new Error(`The process ended with code ${code}.`));
    child.once('exit', ended);
    child.once('message', (value) => {
      child.off('exit', ended);
      resolve(value as T);
    });
  });
}

/** Asks the process to end, and waits until it has. */
export async function stopScript(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  if (child.connected) child.disconnect();
  await ended;
}
