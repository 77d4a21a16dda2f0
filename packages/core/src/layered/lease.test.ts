import {
  createLimiter,
  LayeredStore,
  type LayeredStoreOptions,
  type ManualClock,
  manualClock,
  type Policy,
} from '../index.js';
import { Shared, Wire } from './doubles.js';

const fixed: Policy = { algorithm: 'fixed-window', limit: 1000, window: 1000 };

/** A process that shares a store with others. */
function start(
  mode: Partial<LayeredStoreOptions>,
  policies: readonly Policy[],
  shared: Shared,
  clock: ManualClock,
) {
  const transport = new Wire();
  const store = new LayeredStore({ ...mode, store: shared, transport } as LayeredStoreOptions);
  const limiter = createLimiter({ name: 'api', policies, store, clock, onStoreError: 'throw' });
  const times = async (count: number) => {
    let admitted = 0;
    for (let i = 0; i < count; i++) if ((await limiter.consume('k')).allowed) admitted += 1;
    return admitted;
  };
  return { store, limiter, transport, times };
}

function open(mode: Partial<LayeredStoreOptions>, policies: readonly Policy[] = [fixed], at = 10_000) {
  const shared = new Shared();
  const clock = manualClock(at);
  const another = () => start(mode, policies, new Shared(shared), clock);
  return { shared, clock, another, ...start(mode, policies, shared, clock) };
}

/** Lets the timer run that gives back. Time that is real is its own. */
async function pass(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms);
}
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['Date'] }));
afterEach(() => void jest.useRealTimers());

const reserve = { mode: 'reserve' } as const;

describe('reserve', () => {
  test('charges in advance what was asked for in the last horizon', async () => {
    const { times, shared } = open(reserve);
    expect(await times(100)).toBe(100);
    // Two, then as many as were asked for so far, and so on.
    expect(shared.log.length).toBeLessThan(9);
    expect(shared.log.slice(0, 3)).toEqual(['decide 1', 'charge 2', 'charge 4']);
  });

  test('gives back what nobody asks for any more', async () => {
    const { times, shared, another } = open(reserve);
    // One, two, four, and one of eight.
    await times(8);
    await pass(1000);
    expect(shared.log.at(-1)).toBe('correct 7');
    expect((await another().limiter.peek('k')).remaining).toBe(992);
  });

  test.each([
    // Of five that were charged, two have come back in a horizon, so that three are in use; or all, so that none is.
    [20, 'correct 2'],
    [100, 'charge 3'],
  ])('gives back what a bucket of %i a second has not refilled since', async (limit, last) => {
    const { times, shared } = open(reserve, [{ algorithm: 'token-bucket', limit, window: 1000 }]);
    // Two, of four that were asked for, and three, of six: likely to be used.
    await times(6);
    await pass(1000);
    expect(shared.log.at(-1)).toBe(last);
  });

  test('gives back at the end what was not used', async () => {
    const { times, limiter, another } = open(reserve);
    await times(8);
    limiter.close();
    await pass(0);
    expect((await another().limiter.peek('k')).remaining).toBe(992);
  });

  test('uses what was charged in a window in that window only', async () => {
    const { times, shared, clock } = open(reserve, [fixed], 10_999);
    await times(8);
    clock.advance(1);
    await times(1);
    // What is left of the window before is put down first; and this is the ninth request in a horizon.
    expect(shared.log.slice(-2)).toEqual(['correct 7', 'charge 9']);
  });

  test('denies by itself for a horizon once it gets less than it wants, and says so', async () => {
    const bucket: Policy = { algorithm: 'token-bucket', limit: 1000, window: 1000 };
    const { limiter, times, shared, clock } = open(reserve, [bucket]);
    // A tenth of the bucket is what comes back in a horizon, which is held back.
    expect(await times(5000)).toBe(900);
    const asked = shared.log.length;
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, retryAfterMs: 100, remaining: 0 });
    expect(await limiter.peek('k')).toMatchObject({ allowed: false });
    clock.advance(99);
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, retryAfterMs: 1 });
    // But for the peek.
    expect(shared.log.length).toBe(asked + 1);
    clock.advance(1);
    expect(await times(500)).toBe(100);
  });

  test('of a window that has nothing left remembers how long that lasts', async () => {
    const { limiter, times, shared, clock } = open(reserve);
    expect(await times(2000)).toBe(1000);
    clock.advance(100);
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, retryAfterMs: 900 });
    const asked = shared.log.length;
    clock.advance(500);
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, retryAfterMs: 400 });
    expect(shared.log.length).toBe(asked);
  });

  test('asks for each request where hardly anything comes back and little is left', async () => {
    const { times, shared } = open(reserve, [{ limit: 5, window: '1m' }]);
    expect(await times(10)).toBe(5);
    expect(shared.log.filter((what) => what.startsWith('charge'))).toEqual([]);
    // Nothing is held back of a bucket, either.
    expect(await open(reserve, [{ algorithm: 'gcra', limit: 5, window: '1m' }]).times(10)).toBe(5);
  });

  test('takes a limit that a request brings, and what costs nothing, to the store', async () => {
    const { limiter, shared } = open(reserve);
    await limiter.consume('k');
    await limiter.consume('k', { limit: 10 });
    await limiter.consume('k', { cost: 0 });
    expect(shared.log).toEqual(['decide 1', 'decide 1', 'decide 0']);
  });

  test('a request that costs more than the limit never fits', async () => {
    const { limiter, times } = open(reserve);
    await times(20);
    expect(await limiter.consume('k', { cost: 1001 })).toMatchObject({ retryAfterMs: Infinity });
  });

  test('refunds, settles and resets as the store does', async () => {
    const { limiter, times, another, shared } = open(reserve);
    await times(7);
    const decision = await limiter.consume('k');
    const { remaining } = await another().limiter.peek('k');
    await decision.settle(3);
    expect(
      (await start(reserve, [fixed], new Shared(shared), manualClock(10_000)).limiter.peek('k')).remaining,
    ).toBe(remaining - 2);
    await limiter.reset('k');
    expect((await limiter.peek('k')).remaining).toBe(1000);
  });

  test('where the store fails, what is held is used, and then requests fail', async () => {
    const { limiter, times, shared } = open(reserve);
    await times(8);
    shared.failing = '';
    expect(await times(7)).toBe(7);
    await expect(limiter.consume('k')).rejects.toMatchObject({ outcome: 'not-run' });
    shared.failing = undefined;
    expect(await times(3)).toBe(3);
  });

  test('what the store may have charged counts as used', async () => {
    const { times, shared, another } = open(reserve);
    await times(1);
    shared.failing = 'charge';
    shared.late = true;
    await expect(times(1)).rejects.toMatchObject({ outcome: 'unknown' });
    expect((await another().limiter.peek('k')).remaining).toBe(997);
  });

  test('charges each of several policies what is missing of it', async () => {
    const other: Policy = { name: 'other', algorithm: 'sliding-window-counter', limit: 50, window: 1000 };
    const { times, another } = open(reserve, [fixed, other]);
    expect(await times(500)).toBe(50);
    expect(await another().times(10)).toBe(0);
  });

  test('gives back what it holds before an update, and charges by other numbers after it', async () => {
    const { limiter, times, shared } = open(reserve);
    await times(8);
    limiter.update({ policies: [{ ...fixed, limit: 20 }] });
    // Fifteen were charged, of which eight are used.
    expect(shared.log.at(-1)).toBe('correct 7');
    expect(await times(30)).toBe(12);
  });
});

describe('share', () => {
  const share = { mode: 'share', instances: 4 } as const;

  test('takes its share once in each window, and asks for what is beyond', async () => {
    const { times, shared, clock } = open(share);
    expect(await times(252)).toBe(252);
    expect(shared.log).toEqual(['charge 250', 'decide 1', 'decide 1']);
    clock.advance(1000);
    await times(1);
    expect(shared.log.at(-1)).toBe('charge 250');
  });

  test('never lets all of them have more than the limit', async () => {
    const { times, another } = open(share);
    let admitted = await times(400);
    for (let i = 0; i < 5; i++) admitted += await another().times(400);
    expect(admitted).toBe(1000);
  });

  test('an update loses nothing of what processes hold', async () => {
    const day: Policy = { algorithm: 'fixed-window', limit: 400, window: '1d' };
    const first = open(share, [day]);
    const all = [first, first.another(), first.another(), first.another()];
    // Each holds a quarter, and so all do everything.
    for (const { times } of all) expect(await times(1)).toBe(1);
    for (const { limiter } of all) limiter.update({ policies: [day] });
    expect(await first.times(500)).toBe(396);
  });

  test('an update loses nothing of what is charged on the way', async () => {
    const { limiter, another } = open(share);
    const decision = limiter.consume('k');
    limiter.update({ policies: [{ ...fixed, limit: 2000 }] });
    expect((await decision).allowed).toBe(true);
    await pass(0);
    expect((await another().limiter.peek('k')).remaining).toBe(999);
  });

  test('gives back a share that nobody asks for', async () => {
    const { times, another, shared } = open(share);
    await times(1);
    await pass(1000);
    expect(shared.log).toEqual(['charge 250', 'correct 249']);
    expect(await another().times(2000)).toBe(999);
  });
});

test.each([
  ['reserve', 'sliding-window-log', 'edge "keep" admits as little'],
  ['reserve', 'leaky-bucket', 'token-bucket admits the same'],
  ['share', 'token-bucket', 'mode "reserve" carries it'],
  ['batch', 'gcra', 'token-bucket decides the same'],
  ['gossip', 'gcra', 'token-bucket decides the same'],
] as const)('%s refuses %s when a limiter is made, and says what to take', (mode, algorithm, message) => {
  const needed = { share: { instances: 2 }, batch: { maxUnsynced: 2 }, reserve: {}, gossip: {} }[mode];
  const behind = mode === 'gossip' ? { transport: new Wire() } : { store: new Shared() };
  const store = new LayeredStore({ mode, ...needed, ...behind });
  const policies = [{ algorithm, limit: 5, window: 1000 }];
  expect(() => createLimiter({ policies, store })).toThrow(message);
  const counting = [{ algorithm: 'fixed-window', limit: 5, window: 1000, countDenied: true }] as const;
  expect(() => createLimiter({ policies: counting, store })).toThrow('counts denied requests');
  const blocking = [{ ...fixed, block: { after: 3, for: '1m' } } as const];
  expect(() => createLimiter({ policies: blocking, store })).toThrow('block');
  const limits = [{ name: 'all', policies: [fixed] }];
  expect(() => createLimiter({ limits, store })).toThrow('one that takes keys of several kinds');
});

test.each([
  [
    { mode: 'batch', store: new Shared() },
    'Expected `maxUnsynced` to be an integer of at least 1, got undefined.',
  ],
  [{ mode: 'batch', store: new Shared(), maxUnsynced: 0.5 }, 'Expected `maxUnsynced` to be an integer'],
  [{ mode: 'batch', store: new Shared(), maxUnsynced: 1, syncEvery: 5 }, 'from 10 ms to a day'],
  [{ mode: 'reserve', store: new Shared(), horizon: 'soon' }, 'Expected `horizon` to be a duration'],
  [
    { mode: 'reserve', store: new Shared(), maxUnsynced: 3 },
    'Expected no `maxUnsynced` in mode "reserve", got 3.',
  ],
  [{ mode: 'share', store: new Shared() }, 'Expected `instances` to be an integer of at least 1'],
  [{ mode: 'gossip' }, 'Expected `transport` to be given in mode "gossip"'],
  [{ mode: 'gossip', transport: new Wire(), store: new Shared() }, 'Expected `store` to be absent'],
])('%j is refused', (options, message) => {
  expect(() => new LayeredStore(options as LayeredStoreOptions)).toThrow(message);
});
