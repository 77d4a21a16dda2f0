/**
 * One of the processes that make a history. Its first argument is the server's port, the second how many ms its own
 * clock is off.
 *
 * @module
 */

import { Redis } from 'ioredis';
import { Random } from '../parity/random.js';
import type { Entry } from './entry.js';
import { Recorder } from './record.js';
import { counterOf, Lane, type Traffic } from './traffic.js';

/** What a process is told to do: to several keys at once, under a limiter each. */
export interface Task {
  readonly process: string;
  readonly seed: number;
  /** How many lanes it has on each key. */
  readonly lanes: number;
  readonly traffics: readonly Traffic[];
}

const [port, skewMs] = process.argv.slice(2).map(Number);
const real = Date.now;
Date.now = () => real() + skewMs;

const client = new Redis({
  host: '127.0.0.1',
  port,
  enableAutoPipelining: true,
  autoResendUnfulfilledCommands: false,
});

function work({ process: name, seed, lanes, traffics }: Task): Promise<(readonly Entry[])[]> {
  return Promise.all(
    traffics.map(async (traffic, i) => {
      const runs = Array.from({ length: lanes }, (_, j) => {
        const random = new Random(seed + 1000 * i + j);
        const recorder = new Recorder(client, counterOf(traffic.prefix, traffic.name));
        return new Lane(`${name}.${j}`, random, recorder, recorder, traffic).run();
      });
      return (await Promise.all(runs)).flat();
    }),
  );
}

process.on('message', (task: Task) => {
  work(task).then(
    (entries) => process.send?.(entries),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit());
client.once('ready', () => process.send?.('ready'));
