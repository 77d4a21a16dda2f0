import type { ChildProcess } from 'node:child_process';
import type { LayeredResult, LayeredTask } from './layered-child.js';
import { sharedServers } from './redis-server.js';
import { buildScript, message, type Script, stopScript } from './scripts.js';

const PROCESSES = 4;
const LIMIT = 200;
/** Nothing comes back while the test runs. */
const WINDOW = 1e13;
const REQUESTS = 150;
/** So often each asks at most. */
const EVERY_MS = 3;

let script: Script;
let children: ChildProcess[] = [];
beforeAll(async () => {
  script = buildScript('layered-child');
  children = Array.from({ length: PROCESSES }, () => script.start([String(sharedServers().port)]));
  await Promise.all(children.map((child) => message(child)));
});
afterAll(async () => {
  await Promise.all(children.map(stopScript));
  script.dispose();
});

/** What the processes came to together, each of which would have liked three quarters of the limit. */
async function runAll(mode: LayeredTask['mode']): Promise<LayeredResult> {
  const policy = { algorithm: 'fixed-window', limit: LIMIT, window: WINDOW } as const;
  const task = {
    prefix: 'layeredprocesses',
    name: mode.mode,
    mode,
    policy,
    requests: REQUESTS,
    everyMs: EVERY_MS,
  };
  const results = children.map((child) => message<LayeredResult>(child));
  for (const child of children) child.send(task);
  const all = await Promise.all(results);
  const sum = (field: keyof LayeredResult) => all.reduce((total, each) => total + each[field], 0);
  const untoldMs = Math.max(...all.map((each) => each.untoldMs));
  return { admitted: sum('admitted'), asked: sum('asked'), untoldMs };
}

describe('Four processes on one server are admitted together', () => {
  it('exactly the limit, strict', async () => {
    expect((await runAll({ mode: 'strict' })).admitted).toBe(LIMIT);
  });

  it('at most the limit, in reserve, with fewer questions', async () => {
    const { admitted, asked } = await runAll({ mode: 'reserve' });
    expect(admitted).toBeLessThanOrEqual(LIMIT);
    // What one of them has given back may have come too late for another, that was denied.
    expect(admitted).toBeGreaterThan(0.8 * LIMIT);
    expect(asked).toBeLessThan((PROCESSES * REQUESTS) / 2);
  });

  it('at most so many more as they may owe, in batches', async () => {
    const { admitted, asked } = await runAll({ mode: 'batch', maxUnsynced: 10 });
    expect(admitted).toBeGreaterThanOrEqual(LIMIT);
    expect(admitted).toBeLessThanOrEqual(LIMIT + PROCESSES * 10);
    expect(asked).toBeLessThan((PROCESSES * REQUESTS) / 4);
  });

  it('at most the limit, by shares', async () => {
    const { admitted, asked } = await runAll({ mode: 'share', instances: PROCESSES });
    expect(admitted).toBe(LIMIT);
    expect(asked).toBeLessThan((PROCESSES * REQUESTS) / 4);
  });

  it('at most what is admitted in the meantime above the limit, by gossip', async () => {
    const { admitted, untoldMs } = await runAll({ mode: 'gossip', syncEvery: 20 });
    expect(admitted).toBeGreaterThanOrEqual(LIMIT);
    // A timer may be early by nearly a millisecond, and one request be on either side.
    const meanwhile = Math.floor(untoldMs / (EVERY_MS - 1)) + 2;
    expect(admitted).toBeLessThanOrEqual(LIMIT + PROCESSES * meanwhile);
  });
});
