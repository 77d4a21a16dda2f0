import type { ParsedPolicy, Plan, Table, Term } from '@sluice/core';
import { createLimiter, type Policy } from '@sluice/core';
import { type RedisClient, RedisStore } from '@sluice/core/redis';
import type { Redis } from 'ioredis';
import { single } from './backends.js';
import { settings } from './settings.js';

const backend = single('numbers');
afterAll(() => backend.close());

/** No number that Lua may be told: most of them are what JSON, `Number` and arithmetic make of mistakes. */
const WRONG: readonly unknown[] = [
  ...[0.5, -0.5, 1e-7, -1, -7, 2 ** 53, 2 ** 53 + 2, 1e16, 1e300, -1e300, 5e-324],
  ...[NaN, Infinity, -Infinity, '', '1', '1e3', 'nan', '0x10', ' ', null, undefined, true, [], [1], {}, 1n],
];

const withLog = (policy: Policy): Policy[] => [
  { ...policy, name: 'one' },
  { name: 'log', algorithm: 'sliding-window-log', limit: 9, window: 1000 },
];

let names = 0;

/** A store's part and the plan of a limiter, below all that checks. */
function below(
  policies: Policy[],
  client: RedisClient = backend.client as Redis,
): { table: Table; plan: Plan } {
  const store = new RedisStore({ client, prefix: backend.prefix, timeout: '20s' });
  let table: Table | undefined;
  let plan: Plan | undefined;
  names += 1;
  const limiter = createLimiter({
    name: `t${names}`,
    policies,
    store: {
      async: true,
      open: (name: string, policies: readonly ParsedPolicy[]) => {
        const inner = store.open(name, policies);
        table = inner;
        const decide: Table<true>['decide'] = (...args) => {
          plan = args[2];
          return inner.decide(...args);
        };
        return Object.assign(Object.create(inner), { decide }) as Table<true>;
      },
    },
    onStoreError: 'throw',
  });
  void limiter.consume('warm up').catch(() => {});
  return { table: table as unknown as Table, plan: plan as unknown as Plan };
}

/** The keys that the last of them left. */
async function keys(): Promise<string[]> {
  const all = await (backend.client as Redis).keys(`${backend.prefix}:*`);
  return all.filter((key) => `${key}:`.includes(`{k}:t${names}:`));
}

const rejects = async (call: () => unknown) => {
  const result = await Promise.resolve()
    .then(call)
    .then(
      (value) => value,
      (error) => error as Error,
    );
  expect(result).toBeInstanceOf(Error);
};

/** The numbers of a MessagePack, each still packed: itself if it is below 128, else after a byte that tells its size. */
function itemsOf(packed: Buffer): readonly Buffer[] {
  const items: Buffer[] = [];
  for (let begin = 0, end = 0; begin < packed.length; begin = end) {
    end = begin + (packed[begin] < 0x80 ? 1 : packed[begin] === 0xce ? 5 : 9);
    items.push(packed.subarray(begin, end));
  }
  return items;
}

/** A double as MessagePack has it, which is how the store sends what is not below 2^32. */
function double(value: number): Buffer {
  const packed = Buffer.of(0xcb, 0, 0, 0, 0, 0, 0, 0, 0);
  packed.writeDoubleBE(value, 1);
  return packed;
}

/** The plan with another value at one place. */
function withNumber(plan: Plan, term: number, place: number, value: unknown): Plan {
  const terms: Term[] = plan.terms.map((each, i) => {
    if (i !== term) return each;
    return { ...each, numbers: each.numbers.map((number, j) => (j === place ? (value as number) : number)) };
  });
  return { ...plan, terms };
}

describe.each(settings)('A number that is none, $title', ({ policy }) => {
  it('is an error before anything is sent: no key is left behind', async () => {
    const { table, plan } = below(withLog(policy(5, 1000)));
    for (const value of WRONG) {
      const wrong = value as number;
      await rejects(() => table.decide('k', wrong, plan, true, 250));
      if (value !== undefined) await rejects(() => table.decide('k', 1, plan, true, wrong));
      await rejects(() => table.charge('k', [1, wrong], plan, 250));
      await rejects(() =>
        table.correct(
          'k',
          [1, 1],
          plan,
          [
            { at: wrong, level: 1 },
            { at: 250, level: wrong },
          ],
          250,
        ),
      );
      // Negative units are those of a settlement.
      if (typeof value === 'number' && !Number.isSafeInteger(Math.abs(value))) {
        const charges = plan.terms.map(() => ({ at: 250, level: 1 }));
        await rejects(() => table.correct('k', [1, value], plan, charges, 250));
      }
      for (const [term, { numbers }] of plan.terms.entries()) {
        for (const place of numbers.keys()) {
          await rejects(() => table.decide('k', 1, withNumber(plan, term, place, value), true, 250));
        }
      }
    }
    expect(await keys()).toEqual([]);
  });

  it.each([
    ['a lone policy', (each: Policy) => [each]],
    ['two policies', withLog],
  ])('that is too big is an error of the script before its first write, %s', async (_, policiesOf) => {
    let change: ((numbers: readonly Buffer[]) => readonly Buffer[]) | undefined;
    const client = backend.client as Redis;
    const altered = (rest: (string | Buffer)[]) =>
      rest.map((each) => {
        if (!Buffer.isBuffer(each) || change === undefined) return each;
        return Buffer.concat(change(itemsOf(each)));
      });
    const { table, plan } = below(policiesOf(policy(5, 1000)), {
      evalsha: (sha, count, ...rest) => client.evalsha(sha, count, ...altered(rest)),
      eval: (script, count, ...rest) => client.eval(script, count, ...altered(rest)),
    });
    const length = 3 + plan.terms.reduce((sum, { numbers }) => sum + 2 + numbers.length, 0);
    for (const value of [2 ** 53, 2 ** 53 + 2, 2 ** 63, 1e300, Infinity]) {
      for (let place = 0; place < length; place++) {
        change = (numbers) => numbers.with(place, double(value));
        await rejects(() => table.decide('k', 1, plan, true, 250));
        const units = plan.terms.map(() => 1);
        await rejects(() => table.charge('k', units, plan, 250));
      }
    }
    expect(await keys()).toEqual([]);
    change = undefined;
    await table.decide('k', 1, plan, true, 250);
    expect(await keys()).toHaveLength(plan.terms.length);
    await table.reset('k');
  });
});
