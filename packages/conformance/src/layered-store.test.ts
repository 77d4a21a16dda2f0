import { EventEmitter } from 'node:events';
import { createLimiter, type Decision, LayeredStore, manualClock, type Transport } from '@sluice/core';
import { redisTransport } from '@sluice/core/redis';
import { Redis } from 'ioredis';
import { createClient } from 'redis';
import { single } from './backends.js';
import { sharedServers } from './redis-server.js';
import { storeSuite } from './store-suite.js';

const backend = single('layered');
afterAll(() => backend.close());

/** Between stores of this process: every message has arrived when it has been sent. */
function inProcess(): Transport {
  const emitter = new EventEmitter().setMaxListeners(0);
  return {
    publish: (message) => emitter.emit('message', message),
    subscribe(listener) {
      emitter.on('message', listener);
      return () => emitter.off('message', listener);
    },
  };
}

const transport = inProcess();

storeSuite({
  name: 'LayeredStore, strict, on one server',
  makeStore: () => new LayeredStore({ store: backend.makeStore(), mode: 'strict', transport }),
  supports: { shared: true, remembersDenials: true },
});

describe('strict', () => {
  const policies = [{ algorithm: 'fixed-window', limit: 100, window: '1s' }] as const;
  let names = 0;
  const strict = (over?: Transport) =>
    new LayeredStore({ store: backend.makeStore(), mode: 'strict', transport: over });

  it('asks Redis for at most 5 % of the decisions of one key that sends 100 times its limit, whatever the algorithm', async () => {
    for (const algorithm of [
      'fixed-window',
      'sliding-window-counter',
      'sliding-window-log',
      'token-bucket',
      'gcra',
      'leaky-bucket',
    ] as const) {
      const store = strict();
      const clock = manualClock(1_000_000);
      const limiter = createLimiter({
        name: `attack${names++}`,
        policies: [{ algorithm, limit: 100, window: '1s' }],
        store,
        clock,
        onStoreError: 'throw',
      });
      let admitted = 0;
      // 10,000 in a second, sixty-four at a time.
      for (let sent = 0; sent < 10_000; sent += 64) {
        clock.set(1_000_000 + Math.floor(sent / 10));
        const decisions = await Promise.all(Array.from({ length: 64 }, () => limiter.consume('attacker')));
        admitted += decisions.filter(({ allowed }) => allowed).length;
      }
      expect(admitted).toBeGreaterThanOrEqual(100);
      expect(store.counts.decisions).toBeGreaterThanOrEqual(10_000);
      expect([algorithm, store.counts.asked / store.counts.decisions < 0.05]).toEqual([algorithm, true]);
      limiter.close();
    }
  });

  it('hears of a reset, a refund and a settlement in another process by the pub/sub of Redis', async () => {
    const { port } = sharedServers();
    const connections = Array.from({ length: 3 }, () => new Redis({ host: '127.0.0.1', port }));
    const [client, ...subscribers] = connections;
    const channel = `layered${process.pid}`;
    const name = `told${names++}`;
    const clock = manualClock(0);
    const [one, other] = subscribers.map((subscriber) =>
      createLimiter({
        name,
        policies,
        store: strict(redisTransport({ client, subscriber, channel })),
        clock,
        onStoreError: 'throw',
      }),
    );
    await until(async () => ((await client.pubsub('NUMSUB', channel)) as unknown[])[1] === 2);
    const admitted = await one.consume('k', { cost: 100 });
    const denied = async () => !(await other.consume('k', { cost: 1 })).allowed;
    expect(await denied()).toBe(true);
    await one.refund(admitted, 1);
    await until(async () => !(await denied()));
    expect(await denied()).toBe(true);
    await one.settle(admitted, 98);
    await until(async () => !(await denied()));
    expect(await denied()).toBe(true);
    await one.reset('k');
    await until(async () => !(await denied()));
    one.close();
    other.close();
    for (const connection of connections) connection.disconnect();
  });

  it('goes on hearing by a connection that another store stopped to listen by', async () => {
    const { port } = sharedServers();
    const [client, subscriber] = Array.from({ length: 2 }, () => new Redis({ host: '127.0.0.1', port }));
    const transport = redisTransport({ client, subscriber, channel: `shared${process.pid}` });
    const heard: string[][] = [[], []];
    const failed = (error: Error) => heard[0].push(error.message);
    const [stop] = heard.map((messages) => transport.subscribe((message) => messages.push(message), failed));
    await until(async () => ((await client.pubsub('NUMSUB', `shared${process.pid}`)) as unknown[])[1] === 1);
    stop();
    await transport.publish('a');
    await until(async () => heard[1].length > 0);
    expect(heard).toEqual([[], ['a']]);
    client.disconnect();
    subscriber.disconnect();
  });

  it('sends and hears by clients of node-redis, too', async () => {
    const url = `redis://127.0.0.1:${sharedServers().port}`;
    const [client, subscriber] = [createClient({ url }), createClient({ url })];
    await Promise.all([client.connect(), subscriber.connect()]);
    const over = redisTransport({ client, subscriber, channel: `node${process.pid}` });
    const heard: string[] = [];
    const stop = over.subscribe(
      (message) => heard.push(message),
      (error) => heard.push(error.message),
    );
    await until(async () => {
      await over.publish('hello');
      return heard.length > 0;
    });
    expect(heard[0]).toBe('hello');
    stop();
    await Promise.all([client.close(), subscriber.close()]);
  });

  it('never says of the binding policy what Redis would not, whatever comes in between', async () => {
    // Two processes on one limiter, and a third that has no memory and asks without charging.
    const name = `same${names++}`;
    const over = inProcess();
    const clock = manualClock(50_000);
    const make = (store: ConstructorParameters<typeof LayeredStore>[0]['store']) =>
      createLimiter({ name, policies: [{ limit: 7, window: '1s' }], store, clock, onStoreError: 'throw' });
    const layered = [make(strict(over)), make(strict(over))];
    const plain = make(backend.makeStore());
    let seed = 42;
    const draw = (below: number) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    const made: Decision[] = [];
    for (let step = 0; step < 3000; step++) {
      clock.advance(draw(3) === 0 ? draw(200) : 0);
      const limiter = layered[draw(2)];
      const what = draw(40);
      if (what === 0) await limiter.reset('k');
      else if (what < 3 && made.length > 0) await (made.at(-1) as Decision).settle(draw(4));
      else {
        const cost = draw(4);
        const right = await plain.peek('k', { cost });
        const told = await limiter.peek('k', { cost });
        expect({ step, seed: 42, ...told }).toEqual({ step, seed: 42, ...right });
        const decision = await limiter.consume('k', { cost });
        expect(decision.allowed).toBe(right.allowed);
        if (decision.allowed) made.push(decision);
      }
    }
    for (const limiter of [...layered, plain]) limiter.close();
  });
});

async function until(holds: () => Promise<boolean>): Promise<void> {
  for (let i = 0; i < 1000; i++) {
    if (await holds()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('It never came to hold.');
}
