// Contenders in child processes, and rounds that take turns.
//
// Each has a process of its own, so that none runs on code that another's types have made slower, nor collects
// another's garbage. All live at the same time, but only one works at any moment: A B C, A B C, ..., so that what else
// the machine does falls on all of them alike.

import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url));

/** A contender, ready. `does(step, ...args)` returns { value, wallMs, cpuMs }. */
async function start(workload, name, options) {
  const child = fork(worker, [workload.href, name, JSON.stringify(options)], {
    execArgv: ['--expose-gc', '--max-old-space-size=8192'],
  });
  let settle;
  const next = () =>
    new Promise((resolve, reject) => {
      settle = ({ error, ...message }) => (error ? reject(new Error(`${name}: ${error}`)) : resolve(message));
    });
  child.on('message', (message) => settle(message));
  child.on('exit', (code, signal) => settle({ error: `ended with ${signal ?? code}` }));
  await next();
  return {
    name,
    does(step, ...args) {
      const answer = next();
      child.send({ step, args });
      return answer;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      settle = () => {};
      child.disconnect();
      await once(child, 'exit');
    },
  };
}

/**
 * Starts the contenders, lets `use` work with them, and stops them.
 *
 * @param contenders - options by name.
 */
export async function withContenders(workload, contenders, use) {
  const started = [];
  try {
    for (const [name, options] of Object.entries(contenders)) {
      started.push(await start(workload, name, options));
    }
    return await use(started);
  } finally {
    await Promise.all(started.map((contender) => contender.stop()));
  }
}

/**
 * Lets each contender have a turn, again and again. Returns what the turns returned, by name.
 *
 * @param warmup - how many rounds are forgotten.
 */
export async function takeTurns(contenders, { warmup, rounds }, turn) {
  const results = Object.fromEntries(contenders.map(({ name }) => [name, []]));
  for (let round = -warmup; round < rounds; round++) {
    for (const contender of contenders) {
      const result = await turn(contender, round);
      if (round >= 0) results[contender.name].push(result);
    }
  }
  return results;
}
