import type { ChildProcess } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { type RedisServer, startRedis } from '../redis-server.js';
import { buildScript, message, type Script, stopScript } from '../scripts.js';
import { algorithms } from '../settings.js';
import { connect, serve } from './harness/instance.js';
import { Scene } from './harness/scene.js';
import type { Result, Task } from './host-clock-child.js';

const FIVE_MINUTES = 300_000;
const LIMIT = 30;
/** 316 years: no window ends while the test runs. */
const WINDOW = 1e13;

describe('Three hosts, one of them five minutes ahead and one behind,', () => {
  let server: RedisServer;
  let script: Script;
  let hosts: ChildProcess[];
  beforeAll(async () => {
    server = await startRedis();
    script = buildScript('faults/host-clock-child');
    const skews = [0, FIVE_MINUTES, -FIVE_MINUTES];
    hosts = skews.map((skew) => script.start([String(server.port), String(skew)]));
    await Promise.all(hosts.map((host) => message(host)));
  });
  afterAll(async () => {
    await Promise.all(hosts.map(stopScript));
    script.dispose();
    await server.stop();
  });

  function ask(host: ChildProcess, task: Task): Promise<Result> {
    const result = message<Result>(host);
    host.send(task);
    return result;
  }

  // The time is the server's, so a host's clock means nothing to what is shared.
  it.each(algorithms)(
    'are admitted the limit together, and told the same waits, $title',
    async ({ title: name, policy }) => {
      const task: Task = { name, policy: policy(LIMIT, WINDOW), requests: LIMIT };
      const started = performance.now();
      const results = await Promise.all(hosts.map((host) => ask(host, task)));
      const looks = [];
      for (const host of hosts) looks.push(await ask(host, { ...task, requests: 0 }));
      const tookMs = performance.now() - started + 1;
      expect(results.reduce((sum, { admitted }) => sum + admitted, 0)).toBe(LIMIT);
      for (const field of ['retryAfterMs', 'resetMs'] as const) {
        const waits = looks.map((look) => look[field]);
        expect(Math.min(...waits)).toBeGreaterThan(0);
        expect(Math.max(...waits) - Math.min(...waits)).toBeLessThanOrEqual(tookMs);
      }
    },
  );
});

describe('A host whose clock jumps five minutes ahead, and ten back, while its Redis stands still', () => {
  afterEach(() => jest.restoreAllMocks());

  // Deadline and breaker go by a clock that does not jump, and so does the rest here: windows that do not end.
  it('answers in time all the same, without a false denial, and charges every request once', async () => {
    const server = await serve();
    const clients = [connect(server.port), connect(server.port)];
    const scene = new Scene(clients);
    await scene.prepare();
    await sleep(200);
    const real = Date.now;
    let skew = FIVE_MINUTES;
    jest.spyOn(Date, 'now').mockImplementation(() => real() + skew);
    process.kill(server.pid, 'SIGSTOP');
    scene.strain();
    await sleep(700);
    skew = -FIVE_MINUTES;
    await sleep(500);
    process.kill(server.pid, 'SIGCONT');
    const outcome = await scene.recover(server.port);
    expect(outcome.roomy.locally).toBeGreaterThan(0);
    await outcome.expectAllChargedOnce(clients[0]);
    await outcome.expectTightBound(clients[0]);
  });
});
