import {
  createLimiter,
  type Decision,
  type Gate,
  type LimiterOptions,
  MemoryStore,
  manualClock,
  type ParsedPolicy,
  type Policy,
  type Store,
  StoreError,
  type Table,
} from './index.js';

const away = (outcome: 'not-run' | 'unknown' = 'not-run') =>
  new StoreError('ERR_SLUICE_STORE_CONNECTION', 'It is away.', outcome);

/** Memory that can go away, and notes what it was asked and what it ran. */
class FlakyStore implements Store<true> {
  readonly async = true;
  /** Present while it is away. */
  failure: Error | undefined;
  /** Fails charges alone. */
  chargeFailure: Error | undefined;
  /** What it was asked, in order. */
  readonly asked: string[] = [];
  readonly charges: [id: string, units: readonly number[]][] = [];
  gate: Gate | undefined;
  readonly #memory = new MemoryStore();

  open(name: string, policies: readonly ParsedPolicy[]): Table<true> {
    const table = this.#memory.open(name, policies);
    const ask = async <T>(what: string, failure: Error | undefined, work: () => T): Promise<T> => {
      this.asked.push(what);
      if (failure !== undefined) throw failure;
      return work();
    };
    const store = this;
    return {
      get gate() {
        return store.gate;
      },
      decide: (...args) => ask(`decide ${args[0]}`, this.failure, () => Array.from(table.decide(...args))),
      charge: (...args) =>
        ask(`charge ${args[0]}`, this.failure ?? this.chargeFailure, () => {
          this.charges.push([args[0], args[1]]);
          return Array.from(table.charge(...args));
        }),
      correct: (...args) => ask(`correct ${args[0]}`, this.failure, () => table.correct(...args)),
      reset: (...args) => ask(`reset ${args[0]}`, this.failure, () => table.reset(...args)),
      block: (...args) => ask(`block ${args[0]}`, this.failure, () => table.block?.(...args)),
      unblock: (...args) => ask(`unblock ${args[0]}`, this.failure, () => table.unblock?.(...args)),
      close: () => table.close(),
    };
  }
}

/** Three per second, from the beginning of one. */
const three: Policy = { algorithm: 'fixed-window', limit: 3, window: '1s' };

function open(options: Partial<LimiterOptions<true>> = {}) {
  const store = new FlakyStore();
  const clock = manualClock(0);
  const limiter = createLimiter({ policies: [three], store, clock, ...options });
  const times = async (count: number, key = 'k') => {
    const decisions: Decision[] = [];
    for (let i = 0; i < count; i++) decisions.push(await limiter.consume(key));
    return decisions;
  };
  return { store, clock, limiter, times };
}

const allowed = (decisions: readonly Decision[]) => decisions.filter((decision) => decision.allowed).length;

/** Lets so much time pass that a store that refuses to be charged is tried again. */
function passBetweenSweeps(): void {
  const now = Math.ceil(performance.now()) + 500;
  jest.spyOn(performance, 'now').mockReturnValue(now);
}
afterEach(() => void jest.restoreAllMocks());

/** Lets a sweep come to its end. */
async function swept(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}

describe('A limiter whose store fails', () => {
  it('by default decides in memory, says so, and with the numbers of that memory', async () => {
    const { store, limiter, times } = open();
    expect(await limiter.consume('k')).toMatchObject({ degraded: false, remaining: 2 });
    store.failure = away();
    const decisions = await times(4);
    expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0]);
    expect(allowed(decisions)).toBe(3);
    expect(decisions[3]).toMatchObject({ allowed: false, degraded: true, retryAfterMs: 1000, resetMs: 1000 });
    expect(await limiter.peek('other')).toMatchObject({ allowed: true, degraded: true, remaining: 3 });
  });

  it('keeps to the blocks of this process, of those that the store did not take too', async () => {
    const { store, clock, limiter } = open();
    await limiter.block('k', 5000);
    store.failure = away();
    const hand = { policy: 'default', by: 'hand' };
    expect(await limiter.consume('k')).toMatchObject({ allowed: false, degraded: true, block: hand });
    await expect(limiter.block('other', Infinity)).rejects.toBe(store.failure);
    expect(await limiter.consume('other')).toMatchObject({
      degraded: true,
      block: hand,
      retryAfterMs: Infinity,
    });
    await expect(limiter.unblock('other')).rejects.toBe(store.failure);
    expect(await limiter.consume('other')).toMatchObject({ allowed: true, degraded: true });
    clock.set(5000);
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, degraded: true });
    store.failure = undefined;
    await expect(limiter.block('k', 'soon' as never)).rejects.toThrow('Expected `duration` to be a duration');
  });

  it('goes on to block keys that keep being denied', async () => {
    const policies = [{ ...three, block: { after: 2, for: 4000 } }];
    const { store, times } = open({ policies });
    store.failure = away();
    const decisions = await times(5);
    expect(decisions[3]).not.toHaveProperty('block');
    expect(decisions[4]).toMatchObject({ degraded: true, retryAfterMs: 4000 });
    expect(decisions[4].block).toEqual({ policy: 'default', by: 'policy' });
  });

  it("told 'allow' admits everything, and makes up no number", async () => {
    const { store, limiter, times } = open({ onStoreError: 'allow' });
    store.failure = away();
    const decisions = await times(10);
    expect(allowed(decisions)).toBe(10);
    const numbers = { limit: 3, remaining: NaN, retryAfterMs: 0, resetMs: NaN };
    expect(decisions[9]).toEqual({
      ...{ allowed: true, degraded: true, policy: 'default', delayMs: 0, cost: 1 },
      ...numbers,
      policies: [{ name: 'default', windowMs: 1000, allowed: true, ...numbers }],
    });
    expect(await limiter.peek('k', { cost: 7 })).toMatchObject({ allowed: true, cost: 7 });
    // Nothing was charged, so there is nothing to settle.
    await expect(decisions[9].settle(2)).resolves.toBeUndefined();
    store.failure = undefined;
    expect(await limiter.consume('k')).toMatchObject({ degraded: false, remaining: 2 });
  });

  it("told 'deny' refuses everything, and makes up no number", async () => {
    const { store, limiter, times } = open({ onStoreError: 'deny' });
    store.failure = away();
    const [decision, ...rest] = await times(3);
    expect(allowed(rest)).toBe(0);
    const numbers = { limit: 3, remaining: NaN, retryAfterMs: NaN, resetMs: NaN };
    expect(decision).toEqual({
      ...{ allowed: false, degraded: true, policy: 'default', delayMs: 0, cost: 1 },
      ...numbers,
      policies: [{ name: 'default', windowMs: 1000, allowed: false, ...numbers }],
    });
    expect(await limiter.peek('k')).toMatchObject({ allowed: false, degraded: true });
    store.failure = undefined;
    expect(await limiter.consume('k')).toMatchObject({ allowed: true, degraded: false, remaining: 2 });
  });

  it("told 'throw' rejects with what the store failed with", async () => {
    const { store, limiter } = open({ onStoreError: 'throw' });
    store.failure = away();
    for (const call of [limiter.consume('k'), limiter.peek('k'), limiter.reset('k')]) {
      await expect(call).rejects.toBe(store.failure);
    }
  });

  it('lets policies without a limit be, and lets the first of the others speak', async () => {
    const policies = [{ name: 'free', limit: Infinity, window: '1s' } as const, { ...three, name: 'three' }];
    for (const onStoreError of ['allow', 'deny'] as const) {
      const { store, limiter } = open({ policies, onStoreError });
      store.failure = away();
      const decision = await limiter.consume('k');
      expect(decision).toMatchObject({ policy: 'three', limit: 3, remaining: NaN, resetMs: NaN });
      expect(decision.policies[0]).toMatchObject({ allowed: true, limit: Infinity, remaining: Infinity });
      expect(await limiter.consume('k', { limit: { three: Infinity } })).toMatchObject({
        allowed: true,
        degraded: false,
      });
    }
  });

  it('refuses wrong arguments as ever, and is closed when it is closed', async () => {
    for (const onStoreError of ['local', 'allow', 'deny'] as const) {
      const { store, limiter } = open({ onStoreError });
      store.failure = away();
      const wrong = [
        limiter.consume(5 as never),
        limiter.consume('k', { cost: -1 }),
        limiter.consume('k', { limit: {} as never }),
        limiter.consume('k', { coast: 1 } as never),
        limiter.consume('k', 7 as never),
        limiter.reset(5 as never),
        limiter.refund({} as never),
        limiter.refund(await limiter.consume('k'), -1),
      ];
      for (const call of wrong) await expect(call).rejects.toMatchObject({ code: 'ERR_SLUICE_ARGUMENT' });
      limiter.close();
      limiter.close();
      for (const call of [limiter.consume('k'), limiter.peek('k'), limiter.reset('k')]) {
        await expect(call).rejects.toMatchObject({ code: 'ERR_SLUICE_CLOSED' });
      }
    }
  });

  it('takes no other error for the store’s: a mistake in a store is not hidden', async () => {
    const { store, limiter } = open();
    store.failure = new TypeError('x is not a function');
    await expect(limiter.consume('k')).rejects.toBe(store.failure);
  });

  it('knows a StoreError of another copy of the package by its code', async () => {
    const { store, limiter } = open();
    store.failure = Object.assign(new Error('away'), { code: 'ERR_SLUICE_STORE_OPEN', outcome: 'not-run' });
    expect(await limiter.consume('k')).toMatchObject({ degraded: true });
  });

  it('judges by the request as it was when it came', async () => {
    const { store, limiter } = open();
    store.failure = away();
    const options = { cost: 2 };
    const decided = limiter.consume('k', options);
    options.cost = 3;
    expect(await decided).toMatchObject({ cost: 2, remaining: 1 });
    const limit = { default: 5 };
    const limited = limiter.consume('k', { limit });
    limit.default = -7;
    expect(await limited).toMatchObject({ limit: 5, remaining: 2 });
  });
});

describe('A share of the limit', () => {
  const cases: readonly [share: number, limit: number, local: number][] = [
    [0.5, 3, 1],
    [0.34, 3, 1],
    [0.1, 3, 1],
    [0.25, 1000, 250],
    [1 / 3, 100, 33],
    [1, 3, 3],
    [0.5, 0, 0],
  ];
  it.each(cases)(
    'of %d of %i is %i: rounded down, and at least 1 of what is not 0',
    async (share, limit, local) => {
      for (const algorithm of ['fixed-window', 'gcra', 'token-bucket', 'leaky-bucket'] as const) {
        const { store, limiter } = open({
          policies: [{ algorithm, limit, window: '1m' }],
          localShare: share,
        });
        store.failure = away();
        expect(await limiter.peek('k')).toMatchObject({ degraded: true, limit: local, remaining: local });
        expect(await limiter.peek('k', { limit: 10 })).toMatchObject({
          limit: Math.max(1, Math.floor(10 * share)),
        });
      }
    },
  );

  it('is taken of a burst and of each policy by itself, and of no policy without a limit', async () => {
    const { store, limiter } = open({
      policies: [
        { name: 'bucket', algorithm: 'token-bucket', limit: 10, burst: 40, window: '1s' },
        { name: 'free', limit: Infinity, window: '1s' },
        { name: 'day', limit: 1000, window: '1d' },
      ],
      localShare: 0.5,
    });
    store.failure = away();
    const { policies } = await limiter.peek('k', { limit: { day: 500 } });
    expect(policies.map(({ limit }) => limit)).toEqual([20, Infinity, 250]);
    // 20 tokens at 5 per second.
    expect(policies[0].windowMs).toBe(4000);
  });

  it('can be taken of a rate of which gcra could not hold it', async () => {
    const { store, limiter } = open({
      policies: [{ algorithm: 'gcra', limit: 6000, window: '1m' }],
      localShare: 0.9999,
    });
    store.failure = away();
    expect(await limiter.consume('k')).toMatchObject({ limit: 5999, remaining: 5998 });
  });

  it('denies for now, not for ever, what is more than it and fits into the whole', async () => {
    const policies: Policy[] = [
      { ...three, limit: 10 },
      { ...three, name: 'second', limit: 100 },
    ];
    const { store, limiter } = open({ policies, localShare: 0.5 });
    store.failure = away();
    const decision = await limiter.consume('k', { cost: 6 });
    expect(decision).toMatchObject({ allowed: false, degraded: true, limit: 5, retryAfterMs: 1000 });
    expect(await limiter.peek('k', { cost: 6 })).toMatchObject({ allowed: false, retryAfterMs: 1000 });
    expect(await limiter.consume('k', { cost: 11 })).toMatchObject({
      allowed: false,
      retryAfterMs: Infinity,
    });
    expect(await limiter.consume('k', { cost: 5 })).toMatchObject({ allowed: true });
  });

  it('says of each policy by itself whether it denies', async () => {
    const policies: Policy[] = [
      { ...three, limit: 10 },
      { ...three, name: 'second', limit: 20, countDenied: true },
    ];
    const { store, limiter } = open({ policies, localShare: 0.5 });
    store.failure = away();
    const { policies: each } = await limiter.consume('k', { cost: 6 });
    expect(each.map(({ allowed }) => allowed)).toEqual([false, true]);
  });

  it.each([0, -1, 1.1, NaN, '0.5', null])('is above 0 and at most 1: not %p', (localShare) => {
    expect(() => open({ localShare } as never)).toThrow('`localShare` to be a number above 0 and at most 1');
  });

  it('and what to do are checked with a synchronous store too, and mean nothing there', () => {
    const limiter = createLimiter({ policies: [three], onStoreError: 'deny', localShare: 0.5 });
    expect(limiter.consume('k')).toMatchObject({ allowed: true, degraded: false, remaining: 2 });
    expect(() => createLimiter({ policies: [three], onStoreError: 'ignore' } as never)).toThrow(
      'Expected `onStoreError` to be one of "local", "allow", "deny", "throw", got "ignore".',
    );
  });
});

describe('What was used while the store was away', () => {
  it('is charged before the next decision of the key, in the order of sending, without a wait', async () => {
    const { store, limiter, times } = open();
    store.failure = away();
    await times(2);
    store.failure = undefined;
    store.asked.length = 0;
    const decided = limiter.consume('k');
    await Promise.resolve();
    expect(store.asked).toEqual(['charge k', 'decide k']);
    expect(await decided).toMatchObject({ allowed: true, degraded: false, remaining: 0 });
    expect(await limiter.consume('k')).toMatchObject({ allowed: false });
    expect(store.charges).toEqual([['k', [2]]]);
  });

  it('is charged up to what remains, and no more', async () => {
    const { store, times } = open();
    await times(2);
    store.failure = away();
    expect(allowed(await times(5))).toBe(3);
    store.failure = undefined;
    expect(allowed(await times(2))).toBe(0);
    expect(store.charges).toEqual([['k', [3]]]);
  });

  it('is not charged for a call that the store may have run', async () => {
    const { store, times } = open();
    store.failure = away('unknown');
    await times(2);
    store.failure = away('not-run');
    expect(allowed(await times(2))).toBe(1);
    store.failure = undefined;
    expect((await times(1))[0]).toMatchObject({ allowed: true, remaining: 1 });
    expect(store.charges).toEqual([['k', [1]]]);
  });

  it('is not charged for what was denied, asked for nothing, or only looked at', async () => {
    const { store, limiter } = open();
    store.failure = away();
    await limiter.consume('k', { cost: 4 });
    await limiter.consume('k', { cost: 0 });
    await limiter.peek('k');
    store.failure = undefined;
    expect(await limiter.consume('k')).toMatchObject({ remaining: 2 });
    expect(store.charges).toEqual([]);
  });

  it('is not charged once it has aged', async () => {
    const { store, clock, limiter, times } = open();
    store.failure = away();
    await times(3);
    clock.set(1000);
    await times(1);
    store.failure = undefined;
    expect(await limiter.consume('k')).toMatchObject({ remaining: 1 });
    expect(store.charges).toEqual([['k', [1]]]);
  });

  it('is charged net of refunds', async () => {
    const { store, limiter } = open();
    store.failure = away();
    const decision = await limiter.consume('k', { cost: 3 });
    await limiter.refund(decision, 2);
    await limiter.refund(decision, 0);
    expect(await limiter.peek('k')).toMatchObject({ remaining: 2 });
    store.failure = undefined;
    expect(await limiter.peek('k')).toMatchObject({ degraded: false, remaining: 2 });
    expect(store.charges).toEqual([['k', [1]]]);
    // What has been charged is given back where it was charged, and never more than was taken.
    await limiter.refund(decision);
    await limiter.refund(decision);
    expect(await limiter.peek('k')).toMatchObject({ remaining: 3 });
  });

  it('is corrected in the store to what it really cost, once it was charged there', async () => {
    const { store, limiter } = open({ policies: [{ ...three, limit: 10 }] });
    store.failure = away();
    const [less, more] = [await limiter.consume('k', { cost: 3 }), await limiter.consume('k', { cost: 2 })];
    store.failure = undefined;
    expect(await limiter.peek('k')).toMatchObject({ degraded: false, remaining: 5 });
    await limiter.settle(less, 1);
    expect(await limiter.peek('k')).toMatchObject({ remaining: 7 });
    await limiter.settle(more, 6);
    expect(await limiter.peek('k')).toMatchObject({ remaining: 3 });
    expect(store.charges).toEqual([['k', [5]]]);
  });

  it('settles what anybody decided for it, by the decision alone', async () => {
    const { store, limiter } = open({ policies: [{ ...three, limit: 10 }] });
    const charged = await limiter.consume('k', { cost: 1 });
    store.failure = away();
    const degraded = await limiter.consume('k', { cost: 3 });
    expect([charged.degraded, degraded.degraded]).toEqual([false, true]);
    await degraded.settle(1);
    store.failure = undefined;
    expect(await limiter.peek('k')).toMatchObject({ remaining: 8 });
    await degraded.settle(2);
    await charged.settle(4);
    expect(await limiter.peek('k')).toMatchObject({ remaining: 4 });
    await expect(charged.settle(-1)).rejects.toThrow('Expected `units` to be an integer from 0 to 2^53 - 1');
  });

  it('is corrected again after a correction that surely was not run', async () => {
    const { store, limiter } = open({ policies: [{ ...three, limit: 10 }] });
    store.failure = away();
    const decision = await limiter.consume('k', { cost: 3 });
    store.failure = undefined;
    await limiter.peek('k');
    store.failure = away();
    await expect(limiter.settle(decision, 5)).rejects.toThrow();
    store.failure = undefined;
    await limiter.settle(decision, 5);
    expect(await limiter.peek('k')).toMatchObject({ remaining: 5 });
  });

  it('is given back in this process once, however often that had to be tried', async () => {
    const { store, limiter } = open({ policies: [{ ...three, limit: 10 }] });
    store.failure = away();
    const decision = await limiter.consume('k', { cost: 3 });
    await limiter.consume('k', { cost: 3 });
    store.failure = undefined;
    await limiter.peek('k');
    store.failure = away();
    await expect(limiter.refund(decision)).rejects.toThrow();
    await expect(limiter.refund(decision)).rejects.toThrow();
    expect(await limiter.peek('k')).toMatchObject({ degraded: true, remaining: 4 });
    store.failure = undefined;
    await limiter.refund(decision);
    await limiter.refund(decision);
    expect(await limiter.peek('k')).toMatchObject({ degraded: false, remaining: 7 });
    store.failure = away();
    expect(await limiter.peek('k')).toMatchObject({ degraded: true, remaining: 7 });
  });

  it('is corrected in each policy by what it took there, also after a correction that was not run', async () => {
    const policies: Policy[] = [three, { ...three, name: 'roomy', limit: 10 }];
    const { store, limiter } = open({ policies });
    await limiter.consume('k', { cost: 2 });
    store.failure = away();
    const decision = await limiter.consume('k', { cost: 3 });
    store.failure = undefined;
    const left = async () => (await limiter.peek('k')).policies.map(({ remaining }) => remaining);
    // Of the strict one, no more than a unit was left.
    expect(await left()).toEqual([0, 5]);
    store.failure = away();
    await expect(limiter.refund(decision)).rejects.toThrow();
    store.failure = undefined;
    await limiter.refund(decision);
    expect(await left()).toEqual([1, 8]);
  });

  it('is charged for a key that never comes again, also after a charge that was not run', async () => {
    const { store, limiter } = open();
    store.failure = away();
    await limiter.consume('k', { cost: 2 });
    store.failure = undefined;
    store.chargeFailure = away();
    await limiter.consume('other');
    await swept();
    store.chargeFailure = undefined;
    await limiter.consume('other');
    await swept();
    expect(store.charges).toEqual([]);
    passBetweenSweeps();
    await limiter.consume('other');
    await swept();
    expect(store.charges).toEqual([['k', [2]]]);
  });

  it('is charged for what a key used more than was known, if that is all it owes', async () => {
    const { store, limiter } = open();
    store.failure = away();
    const decision = await limiter.consume('k', { cost: 1 });
    store.failure = undefined;
    store.chargeFailure = away('unknown');
    await limiter.consume('other');
    await swept();
    store.chargeFailure = undefined;
    await limiter.settle(decision, 3);
    passBetweenSweeps();
    await limiter.consume('other');
    await swept();
    expect(store.charges).toEqual([['k', [2]]]);
  });

  it('is charged by what it cost in the end, where nothing was known when it was admitted', async () => {
    const { store, limiter } = open();
    store.failure = away();
    const decision = await limiter.consume('k', { cost: 0 });
    await limiter.settle(decision, 2);
    store.failure = undefined;
    expect(await limiter.peek('k')).toMatchObject({ degraded: false, remaining: 1 });
  });

  it('is charged to each policy by itself, under the limits that the request brought', async () => {
    const policies: Policy[] = [
      { ...three, name: 'second' },
      { name: 'log', algorithm: 'sliding-window-log', limit: 5, window: '1h' },
    ];
    const { store, clock, limiter } = open({ policies });
    store.failure = away();
    await limiter.consume('k', { cost: 3 });
    clock.set(1000);
    await limiter.consume('k', { cost: 3, limit: { log: 7 } });
    store.failure = undefined;
    const { policies: each } = await limiter.peek('k', { limit: { log: 7 } });
    expect(store.charges).toEqual([['k', [3, 6]]]);
    expect(each.map(({ remaining }) => remaining)).toEqual([0, 1]);
  });

  it('is charged in full where every request brings its own limit and the policy has none', async () => {
    const { store, limiter } = open({ policies: [{ ...three, limit: 0 }] });
    store.failure = away();
    await limiter.consume('k', { limit: 10, cost: 4 });
    store.failure = undefined;
    expect(await limiter.peek('k', { limit: 10 })).toMatchObject({ remaining: 6 });
  });

  it('is charged for all other keys as soon as the store has answered, and once', async () => {
    const { store, limiter } = open({ policies: [{ ...three, window: '1h' }] });
    store.failure = away();
    await Promise.all(Array.from({ length: 250 }, (_, i) => limiter.consume(`k${i}`)));
    store.failure = undefined;
    await limiter.consume('other');
    await swept();
    expect(store.charges.map(([id]) => id).sort()).toEqual(
      Array.from({ length: 250 }, (_, i) => `k${i}`).sort(),
    );
    await limiter.consume('other');
    await swept();
    expect(store.charges).toHaveLength(250);
  });

  it('is kept when a charge was not run, and dropped when it may have been', async () => {
    const { store, limiter, times } = open();
    store.failure = away();
    await times(2);
    store.failure = undefined;
    store.chargeFailure = away('not-run');
    expect(await limiter.consume('k')).toMatchObject({ degraded: false, remaining: 2 });
    await swept();
    store.chargeFailure = undefined;
    expect(await limiter.peek('k')).toMatchObject({ remaining: 0 });
    expect(store.charges).toEqual([['k', [2]]]);

    const other = open();
    other.store.failure = away();
    await other.times(2);
    other.store.failure = undefined;
    other.store.chargeFailure = away('unknown');
    await other.limiter.peek('k');
    await swept();
    other.store.chargeFailure = undefined;
    expect(await other.limiter.peek('k')).toMatchObject({ remaining: 3 });
    expect(other.store.charges).toEqual([]);
  });

  it('is not sent with the request that finds out whether the store is back, but as soon as it is', async () => {
    const { store, limiter, times } = open();
    let serves = true;
    store.gate = {
      get serves() {
        return serves;
      },
    };
    store.failure = away();
    await times(2);
    serves = false;
    store.asked.length = 0;
    await times(5);
    expect(store.asked).toEqual(Array(5).fill('decide k'));
    store.failure = undefined;
    expect(await limiter.peek('k')).toMatchObject({ degraded: false, remaining: 3 });
    expect(store.charges).toEqual([]);
    serves = true;
    expect(await limiter.peek('k')).toMatchObject({ degraded: false, remaining: 0 });
    expect(store.charges).toEqual([['k', [3]]]);
  });

  it('is forgotten with the key, here also when the store cannot be told', async () => {
    const { store, limiter, times } = open();
    store.failure = away();
    await times(3);
    await expect(limiter.reset('k')).rejects.toBe(store.failure);
    expect(await limiter.peek('k')).toMatchObject({ degraded: true, remaining: 3 });
    store.failure = undefined;
    expect(await limiter.consume('k')).toMatchObject({ remaining: 2 });
    expect(store.charges).toEqual([]);
  });

  it('is charged again and again, whenever the store comes and goes', async () => {
    const { store, clock, limiter, times } = open();
    for (let i = 0; i < 5; i++) {
      clock.set(1000 * i);
      store.failure = away();
      expect(allowed(await times(2))).toBe(2);
      store.failure = undefined;
      expect(await limiter.consume('k')).toMatchObject({ allowed: true, degraded: false, remaining: 0 });
    }
    expect(store.charges).toHaveLength(5);
  });
});

describe('A refund', () => {
  it('of what the store decided rejects while the store is away', async () => {
    const { store, limiter } = open();
    const decision = await limiter.consume('k');
    store.failure = away();
    await expect(limiter.refund(decision)).rejects.toBe(store.failure);
  });

  it('of what nobody counted does nothing', async () => {
    const { store, limiter } = open({ onStoreError: 'allow' });
    store.failure = away();
    const decision = await limiter.consume('k');
    store.failure = undefined;
    await limiter.consume('k');
    await limiter.refund(decision);
    expect(await limiter.peek('k')).toMatchObject({ remaining: 2 });
  });

  it('of a decision of another limiter is refused', async () => {
    const [one, other] = [open(), open()];
    for (const { store } of [one, other]) store.failure = away();
    const decision = await other.limiter.consume('k');
    await expect(one.limiter.refund(decision)).rejects.toMatchObject({ code: 'ERR_SLUICE_ARGUMENT' });
  });
});

describe('who listens', () => {
  test('is told once that the store fails, and once that it is back', async () => {
    const { store, limiter, times } = open();
    const told: unknown[] = [];
    limiter.on('degraded', ({ error }) => told.push(error));
    limiter.on('recovered', ({ afterMs }) => told.push(afterMs));
    const now = Math.ceil(performance.now());
    const clock = jest.spyOn(performance, 'now').mockReturnValue(now);
    await times(1);
    store.failure = away();
    await times(2);
    clock.mockReturnValue(now + 700);
    store.failure = undefined;
    await times(2);
    expect(told).toEqual([expect.objectContaining({ code: 'ERR_SLUICE_STORE_CONNECTION' }), 700]);
  });

  test('hears of an outage that began before it listened only its end, and how long it was', async () => {
    const { store, limiter, times } = open({ onStoreError: 'allow' });
    const told: unknown[] = [];
    const now = Math.ceil(performance.now());
    const clock = jest.spyOn(performance, 'now').mockReturnValue(now);
    store.failure = away();
    await times(1);
    limiter.on('recovered', (event) => told.push(event));
    clock.mockReturnValue(now + 250);
    await times(1);
    store.failure = undefined;
    await times(1);
    expect(told).toEqual([{ afterMs: 250 }]);
  });

  test('near a limit is not told of what was decided without the store', async () => {
    const { store, limiter, times } = open();
    const near = jest.fn();
    limiter.on('near', near);
    store.failure = away();
    await times(4);
    expect(near).not.toHaveBeenCalled();
  });
});

test('a candidate on a store that fails is counted, and fails no request', async () => {
  const { store, limiter, times } = open({ candidate: { policies: [{ ...three, limit: 1 }] } });
  await times(2);
  store.failure = away();
  expect(allowed(await times(2))).toBe(2);
  await new Promise(setImmediate);
  expect(limiter.report()?.candidate).toMatchObject({ decisions: 2, onlyCandidateDenied: 1, failed: 2 });
});
