import type { ChildProcess } from 'node:child_process';
import { createLimiter } from '@sluice/core';
import { type Backend, cluster, single } from './backends.js';
import type { Result, Task } from './processes-child.js';
import { sharedServers } from './redis-server.js';
import { buildScript, message, type Script, stopScript } from './scripts.js';
import { settings } from './settings.js';
import { hostileIds } from './store/hostile-ids.js';
import { itLeavesKeysThatEnd } from './ttl.js';

const PROCESSES = 8;
const LIMIT = 100;
/** 316 years: window 0 ends in 2286, and nothing comes back while the test runs. */
const WINDOW = 1e13;

let script: Script;
beforeAll(() => {
  script = buildScript('processes-child');
});
afterAll(() => script.dispose());

async function startAll(ports: readonly number[]): Promise<ChildProcess[]> {
  const children = Array.from({ length: PROCESSES }, () => script.start(ports.map(String)));
  await Promise.all(children.map((child) => message(child)));
  return children;
}

/** Gives all processes the task at once; for each key, how many requests they were admitted in all. */
async function runAll(children: readonly ChildProcess[], task: Task): Promise<number[]> {
  const results = children.map((child) => message<Result>(child));
  for (const child of children) child.send(task);
  const counts = await Promise.all(results);
  return task.keys.map((_, i) => counts.reduce((sum, count) => sum + count[i], 0));
}

/** Asks this process's own store about the keys that other processes have written, so that it knows when they end. */
async function look({ makeStore }: Backend, { name, policies, keys }: Task): Promise<void> {
  const limiter = createLimiter({ name, policies, store: makeStore() });
  for (const key of keys) await limiter.peek(key);
  limiter.close();
}

function describeProcesses(title: string, backend: Backend, ports: () => readonly number[]): void {
  describe(title, () => {
    let children: ChildProcess[] = [];
    beforeAll(async () => {
      children = await startAll(ports());
    });
    afterAll(async () => {
      await Promise.all(children.map(stopScript));
      await backend.close();
    });

    it.each(settings)(
      'are admitted exactly the limit on one key, $title',
      async ({ title: name, policy }) => {
        const task = {
          prefix: backend.prefix,
          name,
          policies: [policy(LIMIT, WINDOW)],
          keys: ['key'],
          requests: 40,
        };
        expect(await runAll(children, task)).toEqual([LIMIT]);
        await look(backend, task);
      },
    );

    it('are admitted exactly the least limit where there are several policies', async () => {
      const policies = settings.map(({ title: name, policy }, i) => ({ ...policy(LIMIT + i, WINDOW), name }));
      const task = { prefix: backend.prefix, name: 'several', policies, keys: ['key'], requests: 40 };
      expect(await runAll(children, task)).toEqual([LIMIT]);
      await look(backend, task);
    });

    it('are admitted exactly the limit on every key, whatever clients call themselves', async () => {
      const policies = [{ limit: 10, window: WINDOW }];
      const keys = hostileIds.filter((id) => id.length < 1000);
      const task = { prefix: backend.prefix, name: 'hostile', policies, keys, requests: 3 };
      expect(await runAll(children, task)).toEqual(keys.map(() => 10));
      await look(backend, task);
    });

    itLeavesKeysThatEnd(backend);
  });
}

describeProcesses('Eight processes on one server', single('processes'), () => [sharedServers().port]);
describeProcesses(
  'Eight processes on a cluster of three',
  cluster('processes'),
  () => sharedServers().clusterPorts,
);
