import { StoreError } from './errors.js';
import { createLimiter } from './limiter.js';
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
        table.correct(...args);
      },
      reset: async (...args) => table.reset(...args),
      close: () => table.close(),
    };
  }
}

const failed = (outcome: 'not-run' | 'unknown') => new StoreError('ERR_SLUICE_STORE', 'away', outcome);

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
