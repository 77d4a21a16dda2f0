import { setTimeout as sleep } from 'node:timers/promises';
import { redisCommand } from '../redis-server.js';
import { connect, openInstance, serve } from './harness/instance.js';
import { Scene } from './harness/scene.js';

describe('A server that has reached maxmemory and may evict nothing', () => {
  // It refuses every write before the first (OOM), so nothing was charged: the request is decided without it, and charged
  // when there is room again. So every request is charged exactly once.
  it('is decided for in time, without a false denial, and in the end every request is charged once', async () => {
    const server = await serve({ args: ['--maxmemory-policy', 'noeviction'] });
    const clients = [connect(server.port), connect(server.port)];
    const scene = new Scene(clients);
    await scene.prepare();
    await sleep(300);
    await redisCommand(server.port, 'CONFIG', 'SET', 'maxmemory', 1);
    scene.strain();
    await sleep(800);
    await redisCommand(server.port, 'CONFIG', 'SET', 'maxmemory', 0);
    const outcome = await scene.recover(server.port);
    expect(outcome.roomy.locally).toBeGreaterThan(0);
    await outcome.expectAllChargedOnce(clients[0]);
    await outcome.expectTightBound(clients[0]);
  });

  // What only reads or deletes needs no memory.
  it('still denies what is used up, and still resets', async () => {
    const server = await serve({ args: ['--maxmemory-policy', 'noeviction'] });
    const { tight } = openInstance(connect(server.port));
    await tight.consume('used up', { cost: 50 });
    await redisCommand(server.port, 'CONFIG', 'SET', 'maxmemory', 1);
    expect(await tight.consume('used up')).toMatchObject({ allowed: false, degraded: false });
    expect(await tight.peek('used up')).toMatchObject({ remaining: 0, degraded: false });
    await tight.reset('used up');
    expect(await tight.peek('used up')).toMatchObject({ remaining: 50, degraded: false });
  });
});
