import {
  ArgumentError,
  type Clock,
  createLimiter,
  type Decision,
  type Limiter,
  MemoryStore,
  type Policy,
  type Store,
} from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';
import type { Redis } from 'ioredis';
import { single } from './backends.js';
import { itLeavesKeysThatEnd } from './ttl.js';

const backend = single('arguments');
afterAll(() => backend.close());

const ONE: readonly Policy[] = [{ algorithm: 'fixed-window', limit: 5, window: 1000 }];
const TWO: readonly Policy[] = [
  ...ONE,
  { name: 'log', algorithm: 'sliding-window-log', limit: 9, window: 1000 },
];

/** A wrong call: its title, the call, and the sentence it gets; without one, only the code is asked for. */
type Wrong = [title: string, call: (limiter: Limiter, decision: Decision) => unknown, sentence?: string];

const options = (given: unknown) => (limiter: Limiter) => limiter.consume('key', given as never);

const keys: Wrong[] = [undefined, null, 7, {}, ['key'], Symbol('key'), () => 'key'].flatMap(
  (key): Wrong[] => [
    [`consume(${String(key)})`, (limiter) => limiter.consume(key as never)],
    [`peek(${String(key)})`, (limiter) => limiter.peek(key as never)],
    [`reset(${String(key)})`, (limiter) => limiter.reset(key as never)],
  ],
);

const INTEGER = 'an integer from 0 to 2^53 - 1';
const LIMIT = 'an integer >= 0 or Infinity';

const ofOne: Wrong[] = [
  ...keys,
  [
    'consume(7), in a sentence',
    (limiter) => limiter.consume(7 as never),
    'Expected `key` to be a string, got 7.',
  ],
  ['cost -1', options({ cost: -1 }), `Expected \`cost\` to be ${INTEGER}, got -1.`],
  ['cost 1.5', options({ cost: 1.5 }), `Expected \`cost\` to be ${INTEGER}, got 1.5.`],
  ['cost NaN', options({ cost: Number.NaN }), `Expected \`cost\` to be ${INTEGER}, got NaN.`],
  ['cost Infinity', options({ cost: Infinity }), `Expected \`cost\` to be ${INTEGER}, got Infinity.`],
  ['cost 2^53', options({ cost: 2 ** 53 }), `Expected \`cost\` to be ${INTEGER}, got 9007199254740992.`],
  ['cost "1"', options({ cost: '1' }), `Expected \`cost\` to be ${INTEGER}, got "1".`],
  ['cost 1n', options({ cost: 1n }), `Expected \`cost\` to be ${INTEGER}, got 1n.`],
  [
    'cost as a promise',
    options({ cost: Promise.resolve(1) }),
    `Expected \`cost\` to be ${INTEGER}, got a promise.`,
  ],
  ['limit "10"', options({ limit: '10' }), `Expected \`limit\` to be ${LIMIT}, got "10".`],
  ['limit -1', options({ limit: -1 }), `Expected \`limit\` to be ${LIMIT}, got -1.`],
  ['limit 0.5', options({ limit: 0.5 }), `Expected \`limit\` to be ${LIMIT}, got 0.5.`],
  ['limit NaN', options({ limit: Number.NaN }), `Expected \`limit\` to be ${LIMIT}, got NaN.`],
  ['limit null', options({ limit: null }), `Expected \`limit\` to be ${LIMIT}, got null.`],
  ['limit as a function', options({ limit: () => 5 }), `Expected \`limit\` to be ${LIMIT}, got a function.`],
  ['limit -Infinity', options({ limit: -Infinity }), `Expected \`limit\` to be ${LIMIT}, got -Infinity.`],
  ['limit 2^53', options({ limit: 2 ** 53 })],
  ['a limit for a policy that is not there', options({ limit: { other: 5 } })],
  ['an option that is not there', options({ costs: 1 })],
  ['options 5', options(5)],
  ['options null', options(null)],
  ['options "x"', options('x')],
  ['refund of nothing', (limiter) => limiter.refund(undefined as never)],
  ['refund of null', (limiter) => limiter.refund(null as never)],
  ['refund of an object', (limiter) => limiter.refund({ cost: 1 } as never)],
  ['refund of a copy', (limiter, decision) => limiter.refund({ ...decision })],
  ['refund of -1', (limiter, decision) => limiter.refund(decision, -1)],
  ['refund of 0.5', (limiter, decision) => limiter.refund(decision, 0.5)],
  ['refund of NaN', (limiter, decision) => limiter.refund(decision, Number.NaN)],
  ['refund of "1"', (limiter, decision) => limiter.refund(decision, '1' as never)],
  ['refund of null units', (limiter, decision) => limiter.refund(decision, null as never)],
  ['refund of Infinity', (limiter, decision) => limiter.refund(decision, Infinity)],
];

const ofTwo: Wrong[] = [
  ['one limit where there are two policies', options({ limit: 5 })],
  ['a limit by a name that no policy has', options({ limit: { log: 5, other: 5 } })],
  [
    'a limit by name that is none',
    options({ limit: { log: '5' } }),
    `Expected \`limit.log\` to be ${LIMIT}, got "5".`,
  ],
];

let names = 0;

function describeStore(title: string, store: Store): void {
  const open = (policies: readonly Policy[], clock?: Clock): Limiter => {
    names += 1;
    const own = { name: `t${names}`, policies, store };
    return createLimiter(clock === undefined ? own : { ...own, clock });
  };
  /** How the call ends: a synchronous store throws at the call, an asynchronous one rejects and never throws. */
  const errorOf = async (call: () => unknown): Promise<unknown> => {
    let answer: unknown;
    try {
      answer = call();
    } catch (error) {
      expect(store.async).toBe(false);
      return error;
    }
    expect(store.async).toBe(true);
    return (answer as Promise<unknown>).then(
      () => undefined,
      (error) => error,
    );
  };

  describe(`A wrong argument, ${title},`, () => {
    it.each([...ofOne.map((wrong) => [...wrong, ONE]), ...ofTwo.map((wrong) => [...wrong, TWO])])(
      'is a TypeError with a code, and nothing is charged: %s',
      async (...wrong) => {
        const policies = wrong.pop() as readonly Policy[];
        const [, call, sentence] = wrong as unknown as Wrong;
        const limiter = open(policies, { now: () => 250 });
        const decision = await limiter.consume('key');
        const before = await limiter.peek('key');
        const error = await errorOf(() => call(limiter, decision));
        expect(error).toBeInstanceOf(TypeError);
        expect(error).toBeInstanceOf(ArgumentError);
        expect(error).toMatchObject({
          code: 'ERR_SLUICE_ARGUMENT',
          // It may ask whether another option was meant.
          message: expect.stringMatching(/^Expected .+[.?]$/),
        });
        if (sentence !== undefined) expect((error as Error).message).toBe(sentence);
        expect(await limiter.peek('key')).toEqual(before);
      },
    );

    it('is a decision of another limiter', async () => {
      const [one, other] = [open(ONE), open(ONE)];
      const decision = await one.consume('key');
      const error = await errorOf(() => other.refund(decision));
      expect(error).toMatchObject({ name: 'ArgumentError', code: 'ERR_SLUICE_ARGUMENT' });
    });

    it.each([Number.NaN, -1, 0.5, Infinity, '5', undefined, null, Promise.resolve(5), 2 ** 53])(
      'is a clock that says %p: nothing is charged',
      async (now) => {
        const clock = { now: () => 250 };
        const limiter = open(ONE, clock);
        clock.now = () => now as number;
        expect(await errorOf(() => limiter.consume('key'))).toMatchObject({ code: 'ERR_SLUICE_ARGUMENT' });
        clock.now = () => 250;
        expect(await limiter.peek('key')).toMatchObject({ remaining: 5 });
      },
    );

    it('is not a clock that throws: its own error comes through, and nothing is charged', async () => {
      const broken = new Error('no time');
      const clock = {
        now: (): number => {
          throw broken;
        },
      };
      const limiter = open(ONE, clock);
      expect(await errorOf(() => limiter.consume('key'))).toBe(broken);
      clock.now = () => 250;
      expect(await limiter.peek('key')).toMatchObject({ remaining: 5 });
    });
  });

  describe(`Right arguments, ${title},`, () => {
    it('may be written in more than one way', async () => {
      const limiter = open(TWO, { now: () => 250 });
      await limiter.consume('key', {});
      await limiter.consume('key', { cost: -0 });
      await limiter.consume('key', { limit: {} });
      await limiter.consume('key', { limit: { default: 6, log: Infinity } });
      const decision = await limiter.consume('key', undefined);
      expect(decision.policies.map((policy) => policy.remaining)).toEqual([1, 6]);
      await limiter.refund(decision, -0);
      expect((await limiter.peek('key')).policies.map((policy) => policy.remaining)).toEqual([1, 6]);
    });
  });
}

describeStore('in memory', new MemoryStore());
describeStore('in Redis', backend.makeStore());

describe('A wrong argument', () => {
  it('sends nothing to Redis', async () => {
    const sent: string[] = [];
    const client = backend.client as Redis;
    const store = new RedisStore({
      prefix: 'arguments',
      client: {
        evalsha: (...args: Parameters<Redis['evalsha']>) => {
          sent.push('evalsha');
          return client.evalsha(...args);
        },
        eval: (...args: Parameters<Redis['eval']>) => {
          sent.push('eval');
          return client.eval(...args);
        },
      },
    });
    const limiter = createLimiter({ name: 'quiet', policies: ONE, store });
    const decision = await limiter.consume('key');
    const before = sent.length;
    expect(before).toBeGreaterThan(0);
    for (const [, call] of ofOne) await expect(call(limiter, decision)).rejects.toThrow(TypeError);
    expect(sent).toHaveLength(before);
  });
});

itLeavesKeysThatEnd(backend);
