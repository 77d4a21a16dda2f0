import {
  createLimiter,
  type Decision,
  type LimiterOptions,
  MemoryStore,
  type ParsedPolicy,
  type Store,
  StoreError,
  type Table,
} from './index.js';

const DAY = 86_400_000;
/** Ten at once, and one more every 100 ms. */
const bucket = { algorithm: 'token-bucket', limit: 10, window: '1s' } as const;
const one = { algorithm: 'fixed-window', limit: 1, window: '1s' } as const;

/** Time that only moves when told, from the beginning of a window on. */
beforeEach(() => jest.useFakeTimers({ now: 1_700_000_000_000 }));
afterEach(() => jest.useRealTimers());

/** Notes when each of them ends, in ms from now on, and how. */
function watch(acquired: readonly Promise<Decision>[]) {
  const began = Date.now();
  const ended: (readonly [number, number, unknown])[] = [];
  acquired.forEach((each, i) => {
    const note = (how: unknown) => ended.push([i, Date.now() - began, how]);
    each.then(
      (decision) => note(decision.allowed),
      (error) => note(error.code ?? error.message),
    );
  });
  return ended;
}

const times = <T>(count: number, make: () => T): T[] => Array.from({ length: count }, make);

describe('acquire', () => {
  it('resolves when it is its turn, in the order of the calls, by one timer each', async () => {
    const limiter = createLimiter({ policies: [bucket] });
    const ended = watch(times(13, () => limiter.acquire('key')));
    await jest.advanceTimersByTimeAsync(99);
    expect(jest.getTimerCount()).toBe(3);
    expect(ended).toEqual(times(10, () => 0).map((at, i) => [i, at, true]));
    await jest.advanceTimersByTimeAsync(1000);
    expect(ended.slice(10)).toEqual([
      [10, 100, true],
      [11, 200, true],
      [12, 300, true],
    ]);
    expect(jest.getTimerCount()).toBe(0);
  });

  it('tells how long it took, and what is left then', async () => {
    const limiter = createLimiter({ policies: [one] });
    await limiter.acquire('key');
    const acquired = limiter.acquire('key');
    await jest.advanceTimersByTimeAsync(1000);
    expect(await acquired).toMatchObject({
      allowed: true,
      remaining: 0,
      retryAfterMs: 0,
      resetMs: 1000,
      delayMs: 1000,
      cost: 1,
      degraded: false,
    });
  });

  it('holds what a leaky bucket would have held', async () => {
    const limiter = createLimiter({
      policies: [{ algorithm: 'leaky-bucket', limit: 10, window: '1s', capacity: 2 }],
    });
    const ended = watch(times(5, () => limiter.acquire('key')));
    await jest.advanceTimersByTimeAsync(1000);
    expect(ended.map(([, at]) => at)).toEqual([0, 100, 200, 300, 400]);
  });

  it('waits for longer than timers can be set', async () => {
    const limiter = createLimiter({
      policies: [{ algorithm: 'sliding-window-log', limit: 1, window: '60d' }],
    });
    await limiter.acquire('key');
    const ended = watch([limiter.acquire('key')]);
    await jest.advanceTimersByTimeAsync(60 * DAY - 1);
    expect(ended).toEqual([]);
    await jest.advanceTimersByTimeAsync(1);
    expect(ended).toEqual([[0, 60 * DAY, true]]);
  });

  it('rejects at once where it would wait longer than it may, or for ever, and says why', async () => {
    const limiter = createLimiter({ policies: [{ ...bucket, name: 'burst' }] });
    limiter.consume('key', { cost: 10 });
    await expect(limiter.acquire('key', { cost: 2, maxWait: '100ms' })).rejects.toMatchObject({
      name: 'AcquireError',
      code: 'ERR_SLUICE_WAIT',
      message: 'Expected to wait at most 100 ms (`maxWait`) for `burst`, got at least 200 ms.',
      decision: { allowed: false, retryAfterMs: 200 },
    });
    await expect(limiter.acquire('key', { maxWait: 0 })).rejects.toMatchObject({ code: 'ERR_SLUICE_WAIT' });
    await expect(limiter.acquire('key', { cost: 11 })).rejects.toMatchObject({
      code: 'ERR_SLUICE_NEVER',
      message:
        'Expected `cost` to be at most 10, which `burst` admits at once, got 11: waiting does not help.',
      decision: { allowed: false, retryAfterMs: Infinity },
    });
    expect(jest.getTimerCount()).toBe(0);
    expect(limiter.consume('key').retryAfterMs).toBe(100);
  });

  it('gives a blocked key no place, however long it would wait, and says why', async () => {
    const limiter = createLimiter({ policies: [bucket] });
    limiter.block('key', '2s');
    await expect(limiter.acquire('key')).rejects.toMatchObject({
      code: 'ERR_SLUICE_WAIT',
      message:
        'Expected a key that is not blocked, got one that is, by hand, and admitted in 2000 ms at the earliest.',
      decision: { allowed: false, block: { by: 'hand' }, retryAfterMs: 2000 },
    });
    limiter.block('key', Infinity);
    await expect(limiter.acquire('key')).rejects.toMatchObject({
      code: 'ERR_SLUICE_NEVER',
      message: 'Expected a key that is not blocked, got one that is, by hand, until it is unblocked.',
    });
    expect(jest.getTimerCount()).toBe(0);
    limiter.unblock('key');
    expect(limiter.peek('key').remaining).toBe(10);
  });

  it('rejects at once where a queue would hold it longer than it may', async () => {
    const limiter = createLimiter({ policies: [{ algorithm: 'leaky-bucket', limit: 10, window: '1s' }] });
    limiter.consume('key', { cost: 3 });
    const error = await limiter.acquire('key', { maxWait: 299 }).catch((each) => each);
    expect(error).toMatchObject({ code: 'ERR_SLUICE_WAIT', decision: { allowed: true, delayMs: 300 } });
    // Nothing was charged, so there is nothing to give back.
    limiter.refund(error.decision);
    expect(limiter.peek('key').remaining).toBe(7);
  });

  it.each<[string, unknown, string]>([
    ['maxWait', -1, 'a duration'],
    ['maxWait', '5', 'a duration'],
    ['signal', {}, 'an AbortSignal, got an object'],
    ['signal', { addEventListener: () => {} }, 'an AbortSignal, got an object'],
    ['cost', -1, 'an integer from 0'],
    ['wait', '5s', 'no option that acquire does not have'],
  ])('refuses a wrong %s, and charges nothing', async (name, value, sentence) => {
    const limiter = createLimiter({ policies: [one] });
    const acquired = limiter.acquire('key', { [name]: value });
    await expect(acquired).rejects.toMatchObject({ code: 'ERR_SLUICE_ARGUMENT' });
    await expect(acquired).rejects.toThrow(sentence);
    await expect(limiter.acquire(7 as never)).rejects.toMatchObject({ code: 'ERR_SLUICE_ARGUMENT' });
    expect(limiter.peek('key').remaining).toBe(1);
  });

  describe('with a signal', () => {
    it('gives its place back on abort, rejects with the reason, and leaves no timer', async () => {
      const limiter = createLimiter({ policies: [bucket] });
      limiter.consume('key', { cost: 10 });
      const controller = new AbortController();
      const ended = watch([
        limiter.acquire('key'),
        limiter.acquire('key', { cost: 5, signal: controller.signal }),
      ]);
      await jest.advanceTimersByTimeAsync(50);
      controller.abort(new Error('No more.'));
      await jest.advanceTimersByTimeAsync(0);
      expect(ended).toEqual([[1, 50, 'No more.']]);
      expect(jest.getTimerCount()).toBe(1);
      // One waits until 100, and the next one comes 100 ms after that.
      expect(limiter.peek('key').retryAfterMs).toBe(150);
      await jest.advanceTimersByTimeAsync(1000);
      expect(ended[1]).toEqual([0, 100, true]);
    });

    it('has one listener for however many wait', async () => {
      const limiter = createLimiter({ policies: [bucket] });
      const controller = new AbortController();
      const added = jest.spyOn(controller.signal, 'addEventListener');
      const removed = jest.spyOn(controller.signal, 'removeEventListener');
      const ended = watch(times(40, () => limiter.acquire('key', { signal: controller.signal })));
      await jest.advanceTimersByTimeAsync(1000);
      expect(ended).toHaveLength(20);
      controller.abort(new Error('Stop.'));
      await jest.advanceTimersByTimeAsync(0);
      expect(ended).toHaveLength(40);
      expect(added).toHaveBeenCalledTimes(1);
      expect(jest.getTimerCount()).toBe(0);
      expect(removed.mock.calls.length).toBeLessThanOrEqual(1);
    });

    it('reserves nothing if it is aborted before', async () => {
      const limiter = createLimiter({ policies: [one] });
      const signal = AbortSignal.abort(new Error('No.'));
      await expect(limiter.acquire('key', { signal })).rejects.toThrow('No.');
      expect(limiter.peek('key').remaining).toBe(1);
    });

    it('keeps what it has got when that is aborted later', async () => {
      const limiter = createLimiter({ policies: [one] });
      const controller = new AbortController();
      await limiter.acquire('key', { signal: controller.signal });
      controller.abort();
      expect(limiter.peek('key').remaining).toBe(0);
    });

    it('rejects with the reason even if the place cannot be given back', async () => {
      const limiter = createLimiter({ policies: [one] });
      limiter.consume('key');
      const controller = new AbortController();
      const acquired = limiter.acquire('key', { signal: controller.signal });
      limiter.close();
      controller.abort(new Error('Closing.'));
      await expect(acquired).rejects.toThrow('Closing.');
    });
  });

  it('does not wait in shadow mode, but charges and tells', async () => {
    const limiter = createLimiter({ policies: [one], mode: 'shadow' });
    const denied: unknown[] = [];
    limiter.on('denied', ({ decision }) => denied.push(decision.retryAfterMs));
    const acquired = [undefined, undefined, '1s', undefined] as const;
    const decisions = await Promise.all(acquired.map((maxWait) => limiter.acquire('key', { maxWait })));
    expect(decisions).toMatchObject(times(4, () => ({ allowed: true, retryAfterMs: 0, delayMs: 0 })));
    // The third would have waited for two seconds.
    expect(denied).toEqual([2000]);
    expect(limiter.report()).toEqual({ decisions: 4, denied: 1 });
  });

  it('tells who listens of what is refused', async () => {
    const limiter = createLimiter({ policies: [one] });
    const denied: unknown[] = [];
    limiter.on('denied', ({ key, decision }) => denied.push([key, decision.retryAfterMs]));
    watch([limiter.acquire('key'), limiter.acquire('key'), limiter.acquire('key', { maxWait: '1s' })]);
    await jest.advanceTimersByTimeAsync(1000);
    expect(denied).toEqual([['key', 2000]]);
  });

  it('says so if the store of a user cannot reserve', async () => {
    const memory = new MemoryStore();
    const store: Store<false> = {
      async: false,
      open(...args) {
        const table = memory.open(...args);
        return {
          decide: (...request) => table.decide(...request),
          charge: (...request) => table.charge(...request),
          correct: (...request) => table.correct(...request),
          reset: (id) => table.reset(id),
          close: () => table.close(),
        };
      },
    };
    const limiter = createLimiter({ policies: [one], store });
    await expect(limiter.acquire('key')).rejects.toMatchObject({ code: 'ERR_SLUICE_RESERVE' });
    expect(limiter.peek('key').remaining).toBe(1);
  });
});

/** Memory that can go away. */
class AwayStore implements Store<true> {
  readonly async = true;
  away = false;
  readonly #memory = new MemoryStore();

  open(name: string, policies: readonly ParsedPolicy[]): Table<true> {
    const table = this.#memory.open(name, policies);
    const ask = async <T>(work: () => T): Promise<T> => {
      if (this.away) throw new StoreError('ERR_SLUICE_STORE_CONNECTION', 'It is away.', 'not-run');
      return work();
    };
    return {
      decide: (...args) => ask(() => Array.from(table.decide(...args))),
      reserve: (...args) => ask(() => Array.from(table.reserve?.(...args) ?? [])),
      charge: (...args) => ask(() => Array.from(table.charge(...args))),
      correct: (...args) => ask(() => table.correct(...args)),
      reset: (...args) => ask(() => table.reset(...args)),
      close: () => table.close(),
    };
  }
}

describe('acquire while the store fails', () => {
  const open = (onStoreError: LimiterOptions<true>['onStoreError']) => {
    const store = new AwayStore();
    store.away = true;
    return { store, limiter: createLimiter({ policies: [one], store, onStoreError }) };
  };

  it("waits in this process with 'local', and the store is charged when it is back", async () => {
    const { store, limiter } = open('local');
    const ended = watch([limiter.acquire('key'), limiter.acquire('key')]);
    await jest.advanceTimersByTimeAsync(1000);
    expect(ended).toEqual([
      [0, 0, true],
      [1, 1000, true],
    ]);
    const last = limiter.acquire('key', { maxWait: '1s' });
    await jest.advanceTimersByTimeAsync(1000);
    expect(await last).toMatchObject({ allowed: true, degraded: true, delayMs: 1000 });
    store.away = false;
    expect((await limiter.peek('key')).degraded).toBe(false);
  });

  it("goes on at once with 'allow'", async () => {
    const { limiter } = open('allow');
    const decisions = await Promise.all(times(3, () => limiter.acquire('key', { maxWait: 0 })));
    expect(decisions).toMatchObject(times(3, () => ({ allowed: true, degraded: true, delayMs: 0 })));
  });

  it("rejects with 'deny'", async () => {
    const { limiter } = open('deny');
    await expect(limiter.acquire('key')).rejects.toMatchObject({
      code: 'ERR_SLUICE_WAIT',
      message: 'Expected to wait for `default`, got nobody knows how long while the store fails.',
      decision: { allowed: false, degraded: true },
    });
  });

  it("rejects with the StoreError with 'throw'", async () => {
    const { limiter } = open('throw');
    await expect(limiter.acquire('key')).rejects.toMatchObject({ code: 'ERR_SLUICE_STORE_CONNECTION' });
  });
});
