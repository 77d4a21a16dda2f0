import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createLimiter } from '@sluice/core';
import { single } from '../backends.js';
import { ensureBuilt } from '../built-packages.js';
import { redisCommand, sharedServers } from '../redis-server.js';
import { itLeavesKeysThatEnd, lives } from '../ttl.js';

const root = join(__dirname, '../../../..');
const examples = join(root, 'examples');

interface Example {
  readonly process: ChildProcess;
  readonly printed: () => string;
  /** Where it said that it listens. */
  readonly url: string;
}

describe('the examples', () => {
  const children: ChildProcess[] = [];

  // The examples import what users install: the built packages.
  beforeAll(ensureBuilt, 120_000);

  afterEach(async () => {
    for (const child of children.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });

  function run(folder: string, script: string, env: NodeJS.ProcessEnv = {}) {
    const { PORT: _port, REDIS_URL: _url, ...rest } = process.env;
    const child = spawn(process.execPath, [script], { cwd: folder, env: { ...rest, ...env } });
    children.push(child);
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
    }
    return { child, printed: () => text };
  }

  /** Starts a server and waits until it has printed what to try. */
  async function start(folder: string, script: string, env?: NodeJS.ProcessEnv): Promise<Example> {
    const { child, printed } = run(folder, script, env);
    while (!/^for .*\n/m.test(printed())) {
      const [what] = await Promise.race([
        once(child.stdout!, 'data'),
        once(child, 'exit').then(() => ['exit']),
      ]);
      if (what === 'exit') throw new Error(`The example ended: ${printed()}`);
    }
    const url =
      /^for i in \$\(seq 6\); do curl -s -o \/dev\/null -w '%\{http_code\} ' (\S+); done; echo$/m.exec(
        printed(),
      )?.[1];
    if (url === undefined) throw new Error(`The example printed no line to try: ${printed()}`);
    return { process: child, printed, url };
  }

  async function statuses(url: string, times: number): Promise<number[]> {
    const all: number[] = [];
    for (let i = 0; i < times; i++) {
      const response = await fetch(url);
      await response.text();
      all.push(response.status);
    }
    return all;
  }

  const six = [200, 200, 200, 200, 200, 429];

  it.each(['express', 'fastify', 'koa'])('%s shows the limit, and ends when told to', async (name) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      const example = await start(join(examples, name), 'src/server.mjs', { PORT: '0' });
      expect(example.printed().toLowerCase()).toContain(`${name} at ${example.url} `);
      expect(await (await fetch(example.url)).text()).toBe('Hello! 4 more are free.\n');
      expect(await statuses(example.url, 5)).toEqual(six.slice(1));
      example.process.kill(signal);
      expect(await once(example.process, 'exit')).toEqual([0, null]);
      expect(example.printed().trim().split('\n')).toHaveLength(2);
    }
  });

  it('gives a route of Fastify a limit of its own', async () => {
    const { url } = await start(join(examples, 'fastify'), 'src/server.mjs', { PORT: '0' });
    expect(await statuses(`${url}report`, 2)).toEqual([200, 429]);
    expect(await statuses(url, 6)).toEqual(six);
  });

  it('takes the port it is given, or one from 3000 on that is free', async () => {
    const one = await start(join(examples, 'koa'), 'src/server.mjs');
    const two = await start(join(examples, 'express'), 'src/server.mjs');
    const [first, second] = [one, two].map(({ url }) => Number(new URL(url).port));
    expect(first).toBeGreaterThanOrEqual(3000);
    expect(second).toBeGreaterThan(first);
    expect(second).toBeLessThan(3100);
    two.process.kill();
    await once(two.process, 'exit');
    const again = await start(join(examples, 'fastify'), 'src/server.mjs', { PORT: String(second) });
    expect(new URL(again.url).port).toBe(String(second));

    const taken = run(join(examples, 'express'), 'src/server.mjs', { PORT: String(second) });
    const [code] = await once(taken.child, 'exit');
    expect(code).toBe(1);
    expect(taken.printed()).toContain('EADDRINUSE');
  });

  it('starts the Express example from the root folder', async () => {
    const example = await start(root, 'scripts/start.mjs', { PORT: '0' });
    expect(await statuses(example.url, 6)).toEqual(six);
    example.process.kill('SIGINT');
    expect(await once(example.process, 'exit')).toEqual([0, null]);
  }, 60_000);

  describe('with two processes', () => {
    const backend = single('rl');
    afterAll(() => backend.close());

    it('admits exactly the limit in two processes, on a Redis of its own and on one that is there', async () => {
      const { port } = sharedServers();
      for (const REDIS_URL of ['', `redis://127.0.0.1:${port}`]) {
        const { child, printed } = run(join(examples, 'redis-two-processes'), 'src/main.mjs', { REDIS_URL });
        expect(await once(child, 'exit')).toEqual([0, null]);
        const redis = /^Redis is at redis:\/\/127\.0\.0\.1:(\d+)$/m.exec(printed());
        const admitted = /^A admitted (\d+), B admitted (\d+): together 10\. The limit is 10\.$/m.exec(
          printed(),
        );
        expect(printed().match(/^request \d+ to [AB]: 200$/gm)).toHaveLength(10);
        expect(printed().match(/^request \d+ to [AB]: 429$/gm)).toHaveLength(20);
        expect(Number(admitted?.[1]) + Number(admitted?.[2])).toBe(10);
        expect(Number(admitted?.[1])).toBeGreaterThan(0);
        expect(Number(admitted?.[2])).toBeGreaterThan(0);
        // Its own is gone, the other is not.
        const answer = redisCommand(Number(redis?.[1]), 'PING');
        if (REDIS_URL === '') await expect(answer).rejects.toMatchObject({ code: 'ECONNREFUSED' });
        else await expect(answer).resolves.toBe('PONG');
        const pids = printed()
          .match(/(?<=is process )\d+/g)!
          .map(Number);
        expect(pids).toHaveLength(2);
        for (const pid of pids) expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
      }
      // By asking this process's own store about the key, the suite knows when it should end.
      const keys = (await lives(backend)).map(({ key }) => /^rl:\{(.+)\}:(demo-.+)$/.exec(key));
      const found = keys.filter((match) => match !== null);
      expect(found.length).toBeGreaterThan(0);
      for (const [, id, name] of found) {
        const policies = [{ limit: 10, window: '1m' }] as const;
        await createLimiter({ name, policies, store: backend.makeStore() }).peek(id);
      }
    });

    itLeavesKeysThatEnd(backend);
  });
});
