import { once } from 'node:events';
import {
  createLimiter,
  type Limiter,
  type ManualClock,
  MemoryStore,
  manualClock,
  type Policy,
} from '@sluice/core';
import { buildScript, type Script } from './scripts.js';

const WINDOW: Policy = { algorithm: 'fixed-window', limit: 2, window: 1000 };
/** A unit comes back in a second. */
const BUCKET: Policy = { algorithm: 'token-bucket', limit: 1, window: 1000, burst: 100 };

interface Bench {
  readonly store: MemoryStore;
  readonly clock: ManualClock;
  limiter(name: string, policy?: Policy): Limiter<false>;
}

function open(maxKeys: number, at = 0): Bench {
  const store = new MemoryStore({ maxKeys });
  const clock = manualClock(at);
  const limiter = (name: string, policy: Policy = WINDOW) =>
    createLimiter({ name, policies: [policy], store, clock });
  return { store, clock, limiter };
}

/** Which of the keys have anything used. */
function known(limiter: Limiter<false>, keys: readonly string[]): string[] {
  return keys.filter((key) => {
    const { policies } = limiter.peek(key);
    return policies.some(({ remaining, limit }) => remaining < limit);
  });
}

describe('A full memory store', () => {
  it('holds maxKeys keys and no more, over all its limiters, and counts what it gives up', () => {
    const { store, limiter } = open(100);
    const limiters = ['a', 'b', 'c'].map((name) => limiter(name));
    let most = 0;
    for (let i = 0; i < 1000; i++) {
      limiters[i % 3].consume(`key ${i}`);
      most = Math.max(most, store.size);
    }
    expect(most).toBe(100);
    expect(store.size).toBe(100);
    expect(store.evictions).toBe(900);
  });

  it('gives room to one limiter that another fills', () => {
    const { store, limiter } = open(10);
    const [full, late] = [limiter('full'), limiter('late')];
    for (let i = 0; i < 10; i++) full.consume(`key ${i}`);
    late.consume('a');
    late.consume('b');
    expect(known(late, ['a', 'b'])).not.toEqual([]);
    expect(store.size).toBe(10);
  });

  it('knows nothing of a key that it gave up', () => {
    const { limiter } = open(1);
    const only = limiter('only');
    only.consume('a', { cost: 2 });
    only.consume('b');
    expect(only.peek('a')).toMatchObject({ allowed: true, remaining: 2, resetMs: 0 });
    expect(only.consume('a', { cost: 2 })).toMatchObject({ allowed: true, remaining: 0 });
  });

  it('gives up a key that is denied before one that is blocked, or that somebody waits for', async () => {
    const { limiter } = open(4);
    const only = limiter('only');
    only.block('blocked', '10h');
    only.consume('awaited', { cost: 2 });
    const controller = new AbortController();
    const acquired = only.acquire('awaited', { signal: controller.signal });
    for (const key of ['c', 'd', 'e', 'f', 'g']) {
      only.consume(key, { cost: 2 });
      only.consume(key);
    }
    expect(only.peek('blocked').allowed).toBe(false);
    // Behind the one that waits until 1000.
    expect(only.peek('awaited', { cost: 2 }).retryAfterMs).toBe(2000);
    controller.abort(new Error('Enough.'));
    await expect(acquired).rejects.toThrow('Enough.');
  });

  it('gives up an expired key before one that is not', () => {
    const { store, clock, limiter } = open(3);
    const only = limiter('only');
    only.consume('old');
    clock.set(1000);
    for (const key of ['a', 'b', 'c']) only.consume(key);
    expect(known(only, ['a', 'b', 'c'])).toEqual(['a', 'b', 'c']);
    expect(store.evictions).toBe(0);
  });

  it('gives up an expired key before one that is not, whichever came first', () => {
    const { store, clock, limiter } = open(3);
    const only = limiter('only', BUCKET);
    only.consume('long', { cost: 60 });
    only.consume('short');
    only.consume('longer', { cost: 90 });
    clock.set(2000);
    only.consume('new');
    expect(known(only, ['long', 'short', 'longer', 'new'])).toEqual(['long', 'longer', 'new']);
    expect(store.evictions).toBe(0);
  });

  it('gives up an expired key of another limiter before a live one of its own', () => {
    const { store, clock, limiter } = open(2);
    const [one, other] = [limiter('one'), limiter('other', BUCKET)];
    one.consume('old');
    clock.set(1000);
    other.consume('a');
    other.consume('b');
    expect(known(other, ['a', 'b'])).toEqual(['a', 'b']);
    expect(store.evictions).toBe(0);
  });

  it('knows that a key lives on by a policy that its last request was not judged by', () => {
    const store = new MemoryStore({ maxKeys: 2 });
    const clock = manualClock(0);
    const policies = [WINDOW, { ...WINDOW, name: 'long', window: 3_600_000 } as Policy];
    const only = createLimiter({ policies, store, clock });
    only.consume('older');
    only.consume('newer');
    only.consume('newer', { limit: { long: Infinity } });
    clock.set(2000);
    only.consume('last');
    expect(known(only, ['older', 'newer', 'last'])).toEqual(['newer', 'last']);
    expect(store.evictions).toBe(1);
  });

  it('gives up the key that was not used for longest', () => {
    const { store, limiter } = open(3);
    const only = limiter('only');
    for (const key of ['a', 'b', 'c', 'a', 'd']) only.consume(key);
    expect(known(only, ['a', 'b', 'c', 'd'])).toEqual(['a', 'c', 'd']);
    expect(store.evictions).toBe(1);
  });
});

describe('A key that somebody waits for', () => {
  it('is not given up while another can go', async () => {
    const { store, limiter } = open(2);
    const only = limiter('only');
    const controller = new AbortController();
    only.consume('waited for', { cost: 2 });
    const acquired = only.acquire('waited for', { cost: 2, signal: controller.signal });
    for (const key of ['a', 'b', 'c']) only.consume(key);
    expect(store.evictions).toBe(2);
    expect(only.peek('waited for')).toMatchObject({ allowed: false, remaining: 0 });
    controller.abort(new Error('No more.'));
    await expect(acquired).rejects.toThrow('No more.');
  });
});

describe('A key that is being denied', () => {
  it('survives a flood of 200,000 other keys in a store of 1,000', () => {
    const { store, limiter } = open(1000);
    const only = limiter('only', { ...WINDOW, window: 1_000_000 });
    for (let i = 0; i < 3; i++) only.consume('attacker');
    for (let i = 0; i < 200_000; i++) {
      only.consume(`flood ${i}`);
      if (i % 50_000 === 0) expect(only.consume('attacker').allowed).toBe(false);
    }
    expect(only.consume('attacker')).toMatchObject({ allowed: false, remaining: 0 });
    expect(store.size).toBe(1000);
    expect(store.evictions).toBe(200_001 - 1000);
  });

  it('survives a flood although it is not heard of meanwhile, also when it came from another limiter', () => {
    const { limiter } = open(1000);
    const [quiet, loud] = [limiter('quiet', BUCKET), limiter('loud')];
    quiet.consume('attacker', { cost: 100 });
    quiet.consume('attacker');
    for (let i = 0; i < 20_000; i++) loud.consume(`flood ${i}`);
    expect(quiet.peek('attacker')).toMatchObject({ allowed: false, remaining: 0 });
  });

  it('is not given up while a key of another limiter can go', () => {
    const { limiter } = open(3);
    const [strict, calm] = [limiter('strict'), limiter('calm')];
    for (let i = 0; i < 3; i++) strict.consume('attacker');
    calm.consume('a');
    calm.consume('b');
    strict.consume('newcomer');
    expect(strict.peek('attacker')).toMatchObject({ allowed: false });
    expect(strict.peek('newcomer')).toMatchObject({ remaining: 1 });
  });

  it('goes when all the others are being denied too: the store stays within its bound', () => {
    const { store, limiter } = open(10);
    const only = limiter('only');
    for (let i = 0; i < 50; i++) for (let j = 0; j < 3; j++) only.consume(`key ${i}`);
    expect(store.size).toBe(10);
    expect(store.evictions).toBe(40);
    expect(only.peek('key 49')).toMatchObject({ allowed: false });
  });

  it('is an ordinary key again once it is admitted', () => {
    const { clock, limiter } = open(2);
    const only = limiter('only', { ...WINDOW, algorithm: 'sliding-window-log' } as Policy);
    for (let i = 0; i < 3; i++) only.consume('was denied');
    clock.set(1000);
    only.consume('was denied');
    only.consume('a');
    only.consume('b');
    expect(known(only, ['was denied', 'a', 'b'])).toEqual(['a', 'b']);
  });
});

describe('Expired keys', () => {
  it('are given up by the calls that follow, whoever they are for', () => {
    const { store, clock, limiter } = open(100_000);
    const only = limiter('only');
    for (let i = 0; i < 20_000; i++) only.consume(`key ${i}`);
    expect(store.size).toBe(20_000);
    clock.set(1000);
    const sizes: number[] = [];
    for (let i = 0; i < 20_000; i++) {
      only.consume('other');
      if (i % 2000 === 0) sizes.push(store.size);
    }
    expect(sizes).toEqual([...sizes].sort((a, b) => b - a));
    expect(store.size).toBeLessThan(2000);
    expect(store.evictions).toBe(0);
  });

  it('do not pile up: what is held is in proportion to what is alive', () => {
    const { store, clock, limiter } = open(1_000_000);
    const only = limiter('only');
    let most = 0;
    for (let i = 0; i < 100_000; i++) {
      // Four keys in a millisecond: 4,000 are alive at once.
      if (i % 4 === 0) clock.advance(1);
      only.consume(`key ${i}`);
      most = Math.max(most, store.size);
    }
    expect(most).toBeLessThan(10_000);
    expect(store.evictions).toBe(0);
  });

  it('do not pile up behind a key that lives for long', () => {
    const { store, clock, limiter } = open(1_000_000);
    const only = limiter('only', { ...BUCKET, burst: 1_000_000 });
    only.consume('long', { cost: 1_000_000 });
    let most = 0;
    for (let i = 0; i < 100_000; i++) {
      if (i % 4 === 0) clock.advance(1);
      only.consume(`key ${i}`);
      most = Math.max(most, store.size);
    }
    expect(most).toBeLessThan(10_000);
    expect(only.peek('long').remaining).toBeLessThan(100);
  });

  it('count as new long before they are given up', () => {
    const { clock, limiter } = open(10);
    const only = limiter('only');
    only.consume('key', { cost: 2 });
    clock.set(1000);
    expect(only.consume('key')).toMatchObject({ allowed: true, remaining: 1 });
  });
});

describe('The memory store and time', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  it('follows fake timers that are set up before it is made', () => {
    jest.useFakeTimers({ now: 5000 });
    const limiter = createLimiter({ policies: [WINDOW] });
    expect(limiter.consume('key', { cost: 2 })).toMatchObject({ allowed: true, resetMs: 1000 });
    jest.advanceTimersByTime(999);
    expect(limiter.consume('key')).toMatchObject({ allowed: false, retryAfterMs: 1 });
    jest.advanceTimersByTime(1);
    expect(limiter.consume('key')).toMatchObject({ allowed: true, remaining: 1 });
  });

  it('follows fake timers that are set up after it is made', () => {
    const limiter = createLimiter({ policies: [WINDOW] });
    limiter.consume('key');
    jest.useFakeTimers({ now: Date.now() + 10_000_000 });
    jest.setSystemTime(Math.ceil(Date.now() / 1000) * 1000);
    expect(limiter.consume('key', { cost: 2 })).toMatchObject({ allowed: true, resetMs: 1000 });
    jest.setSystemTime(Date.now() + 1000);
    expect(limiter.consume('key', { cost: 2 })).toMatchObject({ allowed: true, resetMs: 1000 });
  });

  it('sets no timer, fake or real', () => {
    jest.useFakeTimers({ now: 5000 });
    const store = new MemoryStore({ maxKeys: 10 });
    const limiter = createLimiter({ policies: [WINDOW], store });
    for (let i = 0; i < 50; i++) limiter.consume(`key ${i}`);
    expect(jest.getTimerCount()).toBe(0);
  });

  describe('in a process of its own', () => {
    let script: Script;
    beforeAll(() => {
      script = buildScript('memory-child');
    });
    afterAll(() => script.dispose());

    it('keeps no process alive: one that has nothing else to do ends by itself', async () => {
      const child = script.start();
      const [code, signal] = await once(child, 'exit');
      expect({ code, signal }).toEqual({ code: 0, signal: null });
    });
  });
});
