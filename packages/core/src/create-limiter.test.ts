import { createLimiter } from './create-limiter.js';
import { StoreError } from './errors.js';
import { MemoryStore } from './memory/memory-store.js';
import type { ParsedPolicy, Store, Table } from './types.js';

/** A store that gives nothing back while it has a failure. */
class Forgetful implements Store<true> {
  readonly async = true;
  failure: StoreError | undefined;
  readonly #memory = new MemoryStore();

  open(name: string, policies: readonly ParsedPolicy[]): Table<true> {
    const table = this.#memory.open(name, policies);
    return {
      decide: async (...args) => Array.from(table.decide(...args)),
      charge: async (...args) => Array.from(table.charge(...args)),
      correct: async (...args) => {
        if (this.failure !== undefined) throw this.failure;
        return table.correct(...args);
      },
      reset: async (...args) => table.reset(...args),
      close: () => table.close(),
    };
  }
}

const failed = (outcome: 'not-run' | 'unknown') => new StoreError('ERR_SLUICE_STORE', 'away', outcome);

describe('A decision', () => {
  const policies = [{ algorithm: 'fixed-window', limit: 10, window: '1h' }] as const;

  it('settles itself as its limiter does: at once in memory, and else by a promise', async () => {
    const memory = createLimiter({ policies });
    const decision = memory.consume('k', { cost: 2 });
    expect(decision.settle(5)).toBeUndefined();
    expect(memory.peek('k').remaining).toBe(5);
    decision.settle(1);
    expect(memory.peek('k').remaining).toBe(9);
    expect(() => decision.settle(0.5)).toThrow(
      'Expected `units` to be an integer from 0 to 2^53 - 1, got 0.5.',
    );

    const later = createLimiter({ policies, store: new Forgetful(), onStoreError: 'throw' });
    const promised = await later.consume('k');
    await expect(promised.settle(4)).resolves.toBeUndefined();
    expect((await later.peek('k')).remaining).toBe(6);
    await expect(promised.settle(-1)).rejects.toThrow(TypeError);
  });

  it('has nothing to settle if it was denied or only peeked at', () => {
    const limiter = createLimiter({ policies });
    limiter.peek('k').settle(3);
    limiter.consume('k', { cost: 11 }).settle(3);
    expect(limiter.peek('k').remaining).toBe(10);
  });

  it('leaves to a later refund all that settling left', () => {
    const limiter = createLimiter({ policies });
    const decision = limiter.consume('k', { cost: 2 });
    decision.settle(6);
    limiter.refund(decision);
    expect(limiter.peek('k').remaining).toBe(10);
  });

  it('cannot settle once its limiter is closed', () => {
    const limiter = createLimiter({ policies });
    const decision = limiter.consume('k');
    limiter.close();
    expect(() => decision.settle(2)).toThrow('The limiter `default` is closed.');
  });

  it('shows its fields and no more where it is written out', () => {
    const limiter = createLimiter({ policies });
    expect(Object.keys(limiter.consume('k'))).toEqual([
      'allowed',
      'policy',
      'limit',
      'remaining',
      'retryAfterMs',
      'resetMs',
      'delayMs',
      'cost',
      'degraded',
      'policies',
    ]);
  });
});

describe('What could not be given back or settled', () => {
  const open = () => {
    const store = new Forgetful();
    const policies = [{ limit: 100, window: '1h' }] as const;
    return { store, limiter: createLimiter({ policies, store }) };
  };

  it('can be tried again where it was surely not done', async () => {
    const { store, limiter } = open();
    const [one, other] = [await limiter.consume('k', { cost: 30 }), await limiter.consume('k', { cost: 5 })];
    store.failure = failed('not-run');
    await expect(limiter.refund(one)).rejects.toBe(store.failure);
    await expect(limiter.settle(other, 50)).rejects.toBe(store.failure);
    store.failure = undefined;
    await limiter.refund(one);
    await limiter.settle(other, 50);
    expect(await limiter.peek('k')).toMatchObject({ remaining: 50 });
  });

  it('is not done twice where it may have been done', async () => {
    const { store, limiter } = open();
    const decision = await limiter.consume('k', { cost: 30 });
    store.failure = failed('unknown');
    await expect(limiter.refund(decision)).rejects.toBe(store.failure);
    store.failure = undefined;
    await limiter.refund(decision);
    expect(await limiter.peek('k')).toMatchObject({ remaining: 70 });
  });
});

describe('A store that knows no blocks', () => {
  const blocking = { limit: 10, window: '1h', block: { after: 3, for: '1h' } } as const;
  const message =
    'Expected `store` to know blocks, for `block`, got one whose tables have no `block` and `unblock`: a store of your own, or a LayeredStore in a mode other than "strict".';

  it('is refused by policies that block, at once or later', () => {
    for (const onStoreError of ['throw', 'local', 'deny'] as const) {
      const options = { policies: [blocking], store: new Forgetful(), onStoreError };
      expect(() => createLimiter(options)).toThrow(message);
    }
    const limiter = createLimiter({ policies: [{ limit: 10, window: '1h' }], store: new Forgetful() });
    expect(() => limiter.update({ policies: [blocking] })).toThrow(message);
    expect(limiter.policies[0].block).toBeUndefined();
  });

  it('rejects a block by hand', async () => {
    const policies = [{ limit: 10, window: '1h' }] as const;
    const limiter = createLimiter({ policies, store: new Forgetful(), onStoreError: 'throw' });
    await expect(limiter.block('k', '1h')).rejects.toThrow(message);
    await expect(limiter.unblock('k')).rejects.toThrow(message);
  });
});
