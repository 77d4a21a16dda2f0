import {
  ArgumentError,
  createLimiter,
  type Decision,
  type Keys,
  type Limiter,
  MemoryStore,
  manualClock,
  type Policy,
  type Store,
  StoreError,
} from './index.js';

const HOUR = 3_600_000;
const fixed = (limit: number, more: object = {}): Policy => ({
  algorithm: 'fixed-window',
  limit,
  window: HOUR,
  ...more,
});
const limits = (address = 5, user = 2) =>
  [
    { name: 'address', policies: [fixed(address)] },
    { name: 'user', policies: [fixed(user)] },
  ] as const;
const keys = { address: 'a', user: 'u' };
const left = ({ policies }: Decision) => policies.map(({ remaining }) => remaining);

describe('A limiter of keys of several kinds', () => {
  it('has types that know its kinds', () => {
    const limiter = createLimiter({ limits: limits() });
    const decision: Decision = limiter.consume({ user: 'u' });
    expect(decision.allowed).toBe(true);
    // @ts-expect-error there is no such kind
    expect(() => limiter.consume({ ip: 'a' })).toThrow(ArgumentError);
    // @ts-expect-error it takes no text
    expect(() => limiter.consume('u')).toThrow(ArgumentError);
    // @ts-expect-error nor policies
    expect(() => limiter.update({ policies: [fixed(1)] })).toThrow('policies');
    const plain = createLimiter({ policies: [fixed(1)] });
    // @ts-expect-error a limiter of one key takes no object
    expect(() => plain.consume({ user: 'u' })).toThrow('Expected `key` to be a string, got an object.');
    const any: Limiter<boolean, Keys> = limiter;
    expect(any.name).toBe('default');
  });

  it.each<[title: string, options: object, message: string]>([
    [
      'no array',
      { limits: {} },
      'Expected `limits` to be an array of at least one { name, policies }, got an object.',
    ],
    [
      'nothing in it',
      { limits: [] },
      'Expected `limits` to be an array of at least one { name, policies }, got an array of 0.',
    ],
    [
      'what is no limit',
      { limits: [5] },
      'Expected `limits[0]` to be an object such as { name, policies }, got 5.',
    ],
    ['no name', { limits: [{ policies: [fixed(1)] }] }, 'Expected `limits[0].name` to be printable ASCII'],
    [
      'a bad name',
      { limits: [{ name: 'a:b', policies: [fixed(1)] }] },
      'Expected `limits[0].name` to be printable ASCII',
    ],
    ['an unknown option', { limits: [{ name: 'a', policies: [fixed(1)], window: 1 }] }, '`limits[0].window`'],
    [
      'no policies',
      { limits: [{ name: 'a' }] },
      'Expected `limits[0].policies` to be an array of at least one policy, got undefined.',
    ],
    [
      'a bad policy',
      { limits: [...limits(), { name: 'all', policies: [fixed(1), fixed(1.5, { name: 'x' })] }] },
      'Expected `limits[2].policies[1].limit` to be an integer >= 0 or Infinity, got 1.5.',
    ],
    [
      'a name twice',
      { limits: [...limits(), ...limits()] },
      'Expected the names in `limits` to differ, got "address" twice.',
    ],
    [
      'names that are the same when put together',
      {
        limits: [
          { name: 'a', policies: [fixed(1, { name: 'b' })] },
          { name: 'a-b', policies: [fixed(1)] },
        ],
      },
      'Expected the names in `limits` and those of their policies to differ when put together, got "a-b" twice.',
    ],
    [
      'names that are too long together',
      { limits: [{ name: 'a'.repeat(100), policies: [fixed(1, { name: 'b'.repeat(100) })] }] },
      'Expected `limits: the name of a limit and its policy together` to be printable ASCII without `:{}"\\`, at most 128 characters',
    ],
    [
      'policies beside them',
      { limits: limits(), policies: [fixed(1)] },
      'Expected no `policies` beside `limits`, got both.',
    ],
    [
      'an audit',
      { limits: limits(), audit: { sample: 1 } },
      'Expected no `audit` beside `limits`, got both.',
    ],
    [
      'a candidate of one key',
      { limits: limits(), candidate: { policies: [fixed(1)] } },
      'Expected no option that candidate does not have',
    ],
    [
      'a candidate of other kinds',
      { limits: limits(), candidate: { limits: [{ name: 'user', policies: [fixed(1)] }] } },
      'Expected a candidate to have the kinds of keys that the limiter has, in their order, which are address, user, got user.',
    ],
    [
      'a candidate with a bad policy',
      { limits: limits(), candidate: { limits: [{ name: 'user', policies: [fixed(-1)] }] } },
      'Expected `candidate.limits[0].policies[0].limit` to be',
    ],
    [
      'a store that knows but one key',
      { limits: limits(), store: { async: false, open: () => {} } },
      'Expected `store` to be one that takes keys of several kinds, got an object.',
    ],
  ])('is not made of %s, and no name is taken', (_, options, message) => {
    const store = new MemoryStore();
    const make = () => createLimiter({ store, ...options } as never);
    expect(make).toThrow(ArgumentError);
    expect(make).toThrow(message);
    createLimiter({ policies: [fixed(1)], store });
  });

  it('shares its name with no other on its store, and frees it', () => {
    const store = new MemoryStore();
    const limiter = createLimiter({ limits: limits(), store });
    expect(() => createLimiter({ policies: [fixed(1)], store })).toThrow('new to this store');
    limiter.consume(keys);
    expect(store.size).toBe(2);
    limiter.close();
    expect(() => limiter.consume(keys)).toThrow('The limiter `default` is closed.');
    const again = createLimiter({ limits: limits(), store });
    expect(left(again.peek(keys))).toEqual([4, 1]);
  });

  it('tells keys by their kinds', async () => {
    const store = new MemoryStore({ maxKeys: 2 });
    const limiter = createLimiter({ limits: limits(5, 1), store, clock: manualClock(0) });
    const heard: unknown[] = [];
    const listener = (event: { readonly key: Keys }) => heard.push(event.key);
    limiter.on('denied', listener).on('evicted', listener).on('near', listener);
    limiter.consume(keys);
    expect(heard).toEqual([keys]);
    limiter.consume(keys);
    expect(heard).toEqual([keys, keys]);
    limiter.off('denied', listener).off('near', listener);
    limiter.consume({ address: 'b' });
    await null;
    expect(heard.slice(2)).toEqual([{ address: 'a' }]);
  });

  it('lets go on who is denied in shadow mode, and tries a candidate on the keys that there are', () => {
    const heard: unknown[] = [];
    const limiter = createLimiter({
      limits: limits(5, 1),
      candidate: { limits: limits(2, 9) },
      mode: 'shadow',
      clock: manualClock(0),
    });
    limiter.on('candidate', ({ key, decision, candidate }) =>
      heard.push([key, decision.policy, candidate.policy]),
    );
    expect(limiter.consume({ address: 'a' })).toMatchObject({ allowed: true });
    limiter.consume(keys);
    expect(limiter.consume(keys)).toMatchObject({ allowed: true, policies: [{}, { allowed: false }] });
    expect(limiter.consume({ address: 'a' })).toMatchObject({ allowed: true });
    // Of the second request by both keys, the limiter denies the user and the candidate the address.
    expect(heard).toEqual([[{ address: 'a' }, 'address', 'address']]);
    expect(limiter.report()).toMatchObject({
      decisions: 4,
      denied: 1,
      candidate: { decisions: 4, denied: 2, onlyCandidateDenied: 1, onlyLimiterDenied: 0 },
    });
    limiter.reset({ address: 'a' });
    limiter.consume({ address: 'a' });
    expect(limiter.report()?.candidate).toMatchObject({ denied: 2 });
  });

  it('keeps who is denied by one key from being pushed out by the counts of another', () => {
    const store = new MemoryStore({ maxKeys: 1 });
    const limiter = createLimiter({
      limits: [
        { name: 'counted', policies: [fixed(5, { countDenied: true })] },
        { name: 'user', policies: [fixed(1)] },
      ],
      store,
      clock: manualClock(0),
    });
    limiter.consume({ user: 'u' });
    limiter.consume({ user: 'u' });
    expect(limiter.consume({ counted: 'c', user: 'u' })).toMatchObject({ allowed: false, policy: 'user' });
  });
});

describe('While the store fails, keys of several kinds', () => {
  const open = (more: object = {}) => {
    const memory = new MemoryStore();
    const state: { failure: StoreError | undefined; charges: unknown[] } = {
      failure: undefined,
      charges: [],
    };
    const store: Store<true> = {
      async: true,
      takesKinds: true,
      open(...args) {
        const table = memory.open(...args);
        const run = async <T>(work: () => T): Promise<T> => {
          if (state.failure !== undefined) throw state.failure;
          return work();
        };
        return {
          decide: (...all) => run(() => Array.from(table.decide(...all))),
          charge: (...all) => {
            if (state.failure === undefined) state.charges.push([all[0], all[1]]);
            return run(() => Array.from(table.charge(...all)));
          },
          correct: (...all) => run(() => table.correct(...all)),
          reset: (...all) => run(() => table.reset(...all)),
          close: () => table.close(),
        };
      },
    };
    const limiter = createLimiter({ limits: limits(), store, clock: manualClock(0), ...more });
    const away = () => {
      state.failure = new StoreError('ERR_SLUICE_STORE_CONNECTION', 'It is away.', 'not-run');
    };
    const back = () => {
      state.failure = undefined;
    };
    return { limiter, state, away, back };
  };
  const swept = () => new Promise((resolve) => setTimeout(resolve, 20));

  it('are decided here, and each owes what was taken of it', async () => {
    const { limiter, state, away, back } = open();
    away();
    expect(await limiter.consume(keys)).toMatchObject({ allowed: true, degraded: true });
    await limiter.consume({ address: 'a' });
    await limiter.consume({ address: 'b', user: 'u' });
    expect(await limiter.consume({ address: 'c', user: 'u' })).toMatchObject({
      allowed: false,
      policy: 'user',
    });
    back();
    await limiter.peek({ address: 'x' });
    await swept();
    expect(state.charges).toEqual(
      expect.arrayContaining([
        ['["a",null]', [2]],
        ['["b",null]', [1]],
        ['[null,"u"]', [2]],
      ]),
    );
    expect(state.charges).toHaveLength(3);
    expect(left(await limiter.peek(keys))).toEqual([3, 0]);
  });

  it('are charged what they owe right before the next decision on one of them', async () => {
    const { limiter, away, back } = open();
    away();
    await limiter.consume(keys, { cost: 2 });
    back();
    expect(await limiter.consume({ address: 'z', user: 'u' })).toMatchObject({
      allowed: false,
      policy: 'user',
    });
  });

  it('are given back what they owe, before and after they were charged it', async () => {
    const { limiter, away, back } = open();
    away();
    const [one, other] = [await limiter.consume(keys), await limiter.consume(keys)];
    await limiter.refund(one);
    back();
    await limiter.peek(keys);
    await swept();
    expect(left(await limiter.peek(keys))).toEqual([4, 1]);
    await limiter.refund(other);
    expect(left(await limiter.peek(keys))).toEqual([5, 2]);
  });

  it('are reset alone', async () => {
    const { limiter, state, away, back } = open();
    away();
    await limiter.consume(keys, { cost: 2 });
    await expect(limiter.reset({ user: 'u' })).rejects.toThrow('It is away.');
    back();
    await limiter.peek(keys);
    await swept();
    expect(state.charges).toEqual([['["a",null]', [2]]]);
    expect(left(await limiter.peek(keys))).toEqual([3, 2]);
  });

  it('are let through or refused without being counted', async () => {
    for (const [onStoreError, allowed] of [
      ['allow', true],
      ['deny', false],
    ] as const) {
      const { limiter, away } = open({ onStoreError });
      away();
      const decision = await limiter.consume({ address: 'a' });
      expect(decision).toMatchObject({
        allowed,
        degraded: true,
        policies: [{ name: 'address' }, { limit: Infinity }],
      });
    }
  });
});
