import { createLimiter, LayeredStore, MemoryStore, type MessageErrorEvent } from '../index.js';
import { passMs, Shared, Wire } from './doubles.js';

const one = { algorithm: 'fixed-window', limit: 1, window: '1d' } as const;

function open() {
  const store = new Shared();
  const transport = new Wire();
  const errors: Error[] = [];
  const onMessageError = ({ error }: MessageErrorEvent) => errors.push(error);
  const layered = new LayeredStore({ store, mode: 'strict', transport, onMessageError });
  const limiter = createLimiter({ name: 'api', policies: [one], store: layered, onStoreError: 'throw' });
  return { store, transport, errors, layered, limiter };
}

afterEach(() => void jest.restoreAllMocks());

describe('a reservation', () => {
  test('is always asked for, and ends what is remembered of denials that wait behind it', async () => {
    const { store, transport, limiter, layered } = open();
    passMs(0);
    await limiter.consume('k');
    expect(transport.sent).toEqual([]);
    const before = await limiter.consume('k');
    const controller = new AbortController();
    const acquired = limiter.acquire('k', { signal: controller.signal });
    await new Promise((resolve) => setImmediate(resolve));
    expect(store.asked).toBe(2);
    expect(layered.counts).toEqual({ decisions: 3, asked: 3 });
    expect(transport.sent).toHaveLength(1);
    // Both turns are a day's.
    const { retryAfterMs } = await limiter.consume('k');
    expect(retryAfterMs - before.retryAfterMs).toBeGreaterThan(86_000_000);
    expect(store.asked).toBe(3);
    controller.abort(new Error('No more.'));
    await expect(acquired).rejects.toThrow('No more.');
  });

  test('that was refused changes nothing of what is remembered, and is not told', async () => {
    const { store, transport, limiter } = open();
    passMs(0);
    await limiter.consume('k');
    await limiter.consume('k');
    // The place is a day away.
    await expect(limiter.acquire('k', { maxWait: 1000 })).rejects.toThrow();
    await limiter.block('other', Infinity);
    await limiter.consume('other');
    const told = transport.sent.length;
    await expect(limiter.acquire('other', { maxWait: 1000 })).rejects.toThrow();
    expect(transport.sent.length).toBe(told);
    const { asked } = store;
    await limiter.consume('k');
    await limiter.consume('other');
    expect(store.asked).toBe(asked);
    expect(transport.sent).not.toContain('[1,"api","k"]');
  });
});

describe('a denial', () => {
  test('is learnt while other keys are given units back', async () => {
    const { store, limiter } = open();
    passMs(0);
    const other = await limiter.consume('other');
    await limiter.consume('k');
    await Promise.all([limiter.consume('k'), limiter.settle(other, 0)]);
    const { asked } = store;
    expect((await limiter.consume('k')).allowed).toBe(false);
    expect(store.asked).toBe(asked);
  });

  test('is remembered, and told with a wait that grows shorter', async () => {
    const { store, limiter, layered } = open();
    passMs(0);
    await limiter.consume('k');
    const first = await limiter.consume('k');
    passMs(5_000);
    const later = await limiter.consume('k');
    expect(later).toMatchObject({ allowed: false, remaining: 0 });
    expect(first.retryAfterMs - later.retryAfterMs).toBe(5_000);
    expect(first.resetMs - later.resetMs).toBe(5_000);
    expect(store.asked).toBe(2);
    expect(layered.counts).toEqual({ decisions: 3, asked: 2 });
  });

  test('is asked for again after 30 s, however long it lasts', async () => {
    const { store, limiter } = open();
    passMs(0);
    await limiter.consume('k');
    await limiter.consume('k');
    passMs(29_998);
    await limiter.consume('k');
    expect(store.asked).toBe(2);
    passMs(2);
    await limiter.consume('k');
    expect(store.asked).toBe(3);
  });

  test('of one key or cost says nothing of another', async () => {
    const { limiter } = open();
    await limiter.consume('k');
    await limiter.consume('k');
    expect((await limiter.consume('other')).allowed).toBe(true);
    expect((await limiter.consume('k', { cost: 0 })).allowed).toBe(true);
    expect((await limiter.consume('k', { limit: 2 })).allowed).toBe(true);
  });

  test('that is over is found out by one request, which the others wait for', async () => {
    const { store, limiter } = open();
    passMs(0);
    await limiter.consume('k');
    await limiter.consume('k');
    passMs(30_000);
    await Promise.all(Array.from({ length: 50 }, () => limiter.consume('k')));
    expect(store.asked).toBe(3);
  });

  test('is not remembered where denied requests count', async () => {
    const store = new Shared();
    const layered = new LayeredStore({ store, mode: 'strict' });
    const limiter = createLimiter({ policies: [{ ...one, countDenied: true }], store: layered });
    for (let i = 0; i < 5; i++) await limiter.consume('k');
    expect(store.asked).toBe(5);
  });

  test('is not remembered where it is a strike; one by a block is, until the block ends', async () => {
    const store = new Shared();
    const block = { after: 3, for: 10_000 } as const;
    const layered = new LayeredStore({ store, mode: 'strict' });
    const policies = [{ algorithm: 'sliding-window-log', limit: 1, window: '1d', block } as const];
    const limiter = createLimiter({ policies, store: layered, onStoreError: 'throw' });
    passMs(0);
    for (let i = 0; i < 4; i++) await limiter.consume('k');
    expect(store.asked).toBe(4);
    const first = await limiter.consume('k');
    passMs(9_000);
    const later = await limiter.consume('k');
    expect(later.block).toEqual({ policy: 'default', by: 'policy' });
    expect(first.retryAfterMs - later.retryAfterMs).toBe(9_000);
    expect(store.asked).toBe(4);
    passMs(1_000);
    await limiter.consume('k');
    expect(store.asked).toBe(5);
  });

  test('by a block without end is told as one', async () => {
    const { store, limiter } = open();
    passMs(0);
    await limiter.block('k', Infinity);
    await limiter.consume('k');
    passMs(20_000);
    expect(await limiter.consume('k')).toMatchObject({
      block: { policy: 'default', by: 'hand' },
      retryAfterMs: Infinity,
      resetMs: Infinity,
    });
    expect(store.asked).toBe(1);
    await limiter.unblock('k');
    expect((await limiter.consume('k')).allowed).toBe(true);
  });

  test('that was decided before a reset is not remembered after it', async () => {
    const { limiter } = open();
    await limiter.consume('k');
    const [denied] = await Promise.all([limiter.consume('k'), limiter.reset('k')]);
    expect(denied.allowed).toBe(false);
    expect((await limiter.consume('k')).allowed).toBe(true);
  });
});

describe('messages', () => {
  test('tell others of resets, refunds, settlements and blocks, by version, limiter and key', async () => {
    const { limiter, transport } = open();
    const decision = await limiter.consume('k');
    await limiter.settle(decision, 0);
    await limiter.reset('k');
    await limiter.block('k', 1);
    await limiter.unblock('k');
    await limiter.reset('x'.repeat(200));
    expect(transport.sent.slice(0, 4)).toEqual(new Array(4).fill('[1,"api","k"]'));
    expect(JSON.parse(transport.sent[4])[2]).toMatch(/^#.{22}$/);
  });

  test('make this process forget what it knows of that key of that limiter', async () => {
    const { limiter, transport, store } = open();
    await limiter.consume('k');
    await limiter.consume('k');
    for (const other of ['[1,"other","k"]', '[1,"api","other"]']) transport.say(other);
    await limiter.consume('k');
    expect(store.asked).toBe(2);
    transport.say('[1,"api","k"]');
    await limiter.consume('k');
    expect(store.asked).toBe(3);
  });

  test.each([
    ['', 'Expected a message of Sluice, got ""; it was ignored.'],
    ['nonsense', 'Expected a message of Sluice, got "nonsense"; it was ignored.'],
    ['null', 'Expected a message of Sluice, got "null"; it was ignored.'],
    ['{"v":1}', 'Expected a message of Sluice'],
    ['[]', 'Expected a message of Sluice'],
    ['[2,"api","k"]', 'Expected a message of version 1, got "[2,\\"api\\",\\"k\\"]"; it was ignored.'],
    ['[1,"api"]', 'Expected a limiter and a key'],
    ['[1,"api","k",3]', 'Expected a limiter and a key'],
    ['[1,5,"k"]', 'Expected a limiter and a key'],
    [undefined, 'Expected a message of Sluice, got a undefined; it was ignored.'],
  ])('%j is told of and ignored', async (text, message) => {
    const { limiter, transport, errors, store } = open();
    await limiter.consume('k');
    await limiter.consume('k');
    transport.say(text as string);
    expect(errors).toEqual([
      expect.objectContaining({ code: 'ERR_SLUICE_MESSAGE', message: expect.stringContaining(message) }),
    ]);
    await limiter.consume('k');
    expect(store.asked).toBe(2);
  });

  test('that cannot be sent are told of, and fail nothing', async () => {
    const { limiter, transport, errors } = open();
    transport.failure = new Error('no wire');
    await limiter.reset('k');
    expect(errors).toEqual([transport.failure]);
  });

  test('are listened to while a limiter is open', () => {
    const { limiter, transport, layered } = open();
    expect(transport.listens).toBe(true);
    const other = createLimiter({ name: 'other', policies: [one], store: layered });
    limiter.close();
    expect(transport.listens).toBe(true);
    other.close();
    expect(transport.listens).toBe(false);
  });
});

test('the bound is published', () => {
  const store = new Shared();
  expect(new LayeredStore({ store, mode: 'strict' }).bound).toContain('as long as its denial lasts');
  expect(open().layered.bound).toContain('until the message of it arrives there, at most 30000 ms');
});

test.each([
  [undefined, 'Expected `options` to be an object with a store and a mode'],
  [{ mode: 'strict' }, 'Expected `store` to be a store that is shared, such as a RedisStore, got undefined.'],
  [{ mode: 'strict', store: new MemoryStore() }, 'Expected `store` to be a store that is shared'],
  [{ store: new Shared() }, 'Expected `mode`'],
  [{ mode: 'loose', store: new Shared() }, 'Expected `mode`'],
  [
    { mode: 'strict', store: new Shared(), transport: {} },
    'Expected `transport` to be redisTransport({ client, subscriber }), or an object with publish and subscribe',
  ],
  [
    { mode: 'strict', store: new Shared(), onMessageError: 1 },
    'Expected `onMessageError` to be a function, got 1.',
  ],
  [{ mode: 'strict', store: new Shared(), instances: 3 }, 'instances'],
])('%j is refused', (options, message) => {
  expect(() => new LayeredStore(options as never)).toThrow(message);
});

test('limiters of one name on a layered store and on the store behind it are refused', () => {
  const store = new Shared();
  createLimiter({ policies: [one], store });
  expect(() =>
    createLimiter({ policies: [one], store: new LayeredStore({ store, mode: 'strict' }) }),
  ).toThrow('two limiters of one name');
});

describe('flush', () => {
  test('resolves when limiters that are closed have reported what they owed, however late that is sent', async () => {
    const store = new Shared();
    const layered = new LayeredStore({ store, mode: 'batch', maxUnsynced: 10 });
    const limiter = createLimiter({
      policies: [{ ...one, limit: 100 }],
      store: layered,
      onStoreError: 'throw',
    });
    for (let i = 0; i < 8; i++) await limiter.consume('k');
    limiter.close();
    await layered.flush();
    const other = createLimiter({ policies: [{ ...one, limit: 100 }], store, onStoreError: 'throw' });
    expect(await other.peek('k')).toMatchObject({ remaining: 92 });
  });

  test('resolves when they could not', async () => {
    const store = new Shared();
    const layered = new LayeredStore({ store, mode: 'batch', maxUnsynced: 10 });
    const limiter = createLimiter({ policies: [{ ...one, limit: 100 }], store: layered });
    for (let i = 0; i < 8; i++) await limiter.consume('k');
    store.failing = 'charge';
    limiter.close();
    await layered.flush();
    expect(store.log).toContain('charge 7');
  });
});
