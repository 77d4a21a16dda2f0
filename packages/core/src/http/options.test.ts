import type { IncomingMessage } from 'node:http';
import { createLimiter, MemoryStore } from '../index.js';
import { createGuard, type Host, type RateLimitOptions } from './index.js';
import { mergeOptions } from './merge-options.js';
import { KNOWN } from './options.js';

type Options = RateLimitOptions<IncomingMessage, () => unknown>;
type Some = Readonly<Record<string, unknown>>;

const host: Host<IncomingMessage> = { raw: (request) => request, address: () => '192.0.2.1' };
const limiterOf = (limit: number) => createLimiter({ policies: [{ limit, window: '1h' }] });

/** What the policy is: of all routes, and of one. A route may also name a part of a lone policy. */
const generalPolicies: Some[] = [
  { limit: 9, window: '1h' },
  { limit: 9, window: '1h', algorithm: 'token-bucket', burst: 10 },
  { limit: () => 9, window: '1h' },
  { policies: [{ limit: 9, window: '1h' }] },
  { policies: [{ limit: 9, window: '1h' }], limit: () => 9 },
  { limits: [{ name: 'all', key: 'all', policies: [{ limit: 9, window: '1h' }] }] },
  { limiter: limiterOf(9) },
];
const ownPolicies: Some[] = [
  {},
  { limit: 1 },
  { window: '1m' },
  { limit: () => 1 },
  { limit: 1, window: '1m' },
  { policies: [{ limit: 1, window: '1m' }] },
  { policies: [{ limit: 1, window: '1m' }], limit: () => 1 },
  { limits: [{ name: 'address', policies: [{ limit: 1, window: '1m' }] }] },
  { limiter: limiterOf(1) },
];
const generalAnswers: Some[] = [
  {},
  { handler: () => 9 },
  { body: 'all' },
  { body: 'all', contentType: 'text/html' },
  { throw: true },
];
const ownAnswers: Some[] = [
  {},
  { handler: () => 1 },
  { body: 'own' },
  { body: 'own', contentType: 'text/plain' },
  { throw: true },
  { throw: false },
];

const isPart = (own: Some) => 'window' in own !== 'limit' in own && typeof own.limit !== 'function';
/** The one of four ways in which options say what the policy is. */
const kindOf = (options: Some) => ['limiter', 'limits', 'policies'].find((kind) => kind in options) ?? 'lone';
const isPolicy = (option: string) =>
  ['limit', 'window', 'algorithm', 'burst', 'policies', 'limits', 'limiter'].includes(option);

/** What a reader of the reference expects: the route's own choice of a kind replaces the other kinds. */
function expectedPolicy(general: Some, own: Some): Some {
  const chooses = Object.entries(own).some(
    ([name, value]) => name !== 'limit' || typeof value !== 'function',
  );
  return chooses && kindOf(own) !== kindOf(general) ? own : { ...general, ...own };
}

function expectedAnswer(general: Some, own: Some): Some {
  const [option] = Object.keys(own);
  if (option === undefined) return general;
  if (own.throw === false) return { ...general, throw: false };
  // A body of a route keeps the type that all bodies have.
  return option === 'body' && 'body' in general ? { ...general, ...own } : own;
}

const combinations = generalPolicies.flatMap((generalPolicy) =>
  ownPolicies.flatMap((ownPolicy) =>
    generalAnswers.flatMap((generalAnswer) =>
      ownAnswers.map((ownAnswer) => ({ generalPolicy, ownPolicy, generalAnswer, ownAnswer })),
    ),
  ),
);

describe('the options of a route', () => {
  it('are merged with those of all routes, in whatever way these say what the policy is and who answers', () => {
    expect(combinations).toHaveLength(7 * 9 * 5 * 6);
    for (const { generalPolicy, ownPolicy, generalAnswer, ownAnswer } of combinations) {
      const merged = mergeOptions<Some>(
        { ...generalPolicy, ...generalAnswer },
        { ...ownPolicy, ...ownAnswer },
      );
      expect(merged).toEqual({
        ...expectedPolicy(generalPolicy, ownPolicy),
        ...expectedAnswer(generalAnswer, ownAnswer),
      });

      // All of it makes a guard, but for a part of a lone policy where there is none to take the rest from.
      const make = () => createGuard(merged as unknown as Options, host);
      if (isPart(ownPolicy) && kindOf(generalPolicy) !== 'lone') {
        expect(make).toThrow(/^Expected `(limit|window)` to be /);
      } else expect(make).not.toThrow();
    }
  });

  it('choose limits by several keys, and no key beside them', () => {
    const limits = [{ name: 'address', policies: [{ limit: 1, window: '1m' }] }];
    const general = { limit: 9, window: '1h', key: () => 'all', cost: 2 };
    expect(mergeOptions<Some>(general, { limits })).toEqual({ limits, cost: 2 });
    expect(() =>
      createGuard(mergeOptions<Some>(general, { limits, key: () => 'own' }) as never, host),
    ).toThrow('Expected `key` to be part of `limits`, got it beside it.');
  });

  it('stand one by one for those of all routes, where they are given', () => {
    const values: Record<string, readonly [general: unknown, own: unknown]> = {
      name: ['all', 'own'],
      store: [new MemoryStore(), new MemoryStore()],
      onStoreError: ['allow', 'local'],
      localShare: [1, 0.5],
      mode: ['shadow', 'enforce'],
      candidate: [{ policies: [{ limit: 1, window: 1 }] }, { policies: [{ limit: 2, window: 1 }] }],
      near: [{ from: 0.8 }, { to: 1 }],
      audit: [{ sample: 0.1 }, { sample: 1 }],
      key: [() => 'all', () => 'own'],
      ipv6Prefix: [56, 64],
      cost: [1, 0],
      skip: [() => true, () => false],
      countOnly: ['failed', false],
      preflight: [true, false],
      maxHeld: [10, 0],
      headers: ['draft-8', false],
      resetFormat: ['seconds', 'epoch'],
      partitionSecret: ['a secret of all routes', 'a secret of this one'],
    };
    const others = ['handler', 'body', 'contentType', 'throw'];
    const buckets = ['block', 'capacity', 'maxDelay', 'buckets', 'edge', 'rounding', 'countDenied'];
    expect(Object.keys(values).sort()).toEqual(
      KNOWN.filter((option) => !isPolicy(option) && ![...others, ...buckets].includes(option)).sort(),
    );
    const lone = { limit: 9, window: '1h' };
    for (const [option, [general, own]] of Object.entries(values)) {
      for (const [all, route, right] of [
        [{ [option]: general }, { [option]: own }, { [option]: own }],
        [{ [option]: general }, {}, { [option]: general }],
        [{ [option]: general }, { [option]: undefined }, { [option]: general }],
        [{}, { [option]: own }, { [option]: own }],
      ] as Some[][]) {
        const given = Object.freeze({ ...lone, ...all });
        expect(mergeOptions<Some>(given, Object.freeze(route))).toEqual({ ...lone, ...right });
      }
    }
  });

  it('may name another algorithm, whatever else the one of all routes is given', () => {
    const options: Record<string, Some> = {
      'fixed-window': { countDenied: true },
      'sliding-window-log': {},
      'sliding-window-counter': { buckets: 4, edge: 'keep', rounding: 'down', countDenied: true },
      'token-bucket': { burst: 20 },
      gcra: { burst: 20 },
      'leaky-bucket': { capacity: 20, maxDelay: '1m' },
    };
    for (const [algorithm, numbers] of Object.entries(options)) {
      const general = { algorithm, limit: 10, window: '1h', ...numbers };
      for (const [other, meaningful] of Object.entries(options)) {
        const kept = Object.entries(numbers).filter(([option]) => option in meaningful);
        const merged = mergeOptions<Some>(general, { algorithm: other, limit: 5 });
        expect(merged).toEqual({ algorithm: other, limit: 5, window: '1h', ...Object.fromEntries(kept) });
        expect(() => createGuard(merged as unknown as Options, host)).not.toThrow();
      }
    }
    // What a route itself gives to an algorithm that it means nothing to is a mistake.
    const mixed = { algorithm: 'gcra', buckets: 4 };
    expect(mergeOptions<Some>({ limit: 9, window: '1h' }, mixed)).toMatchObject(mixed);
  });

  it('take neither name nor store to a limiter that was given to them', () => {
    const limiter = limiterOf(1);
    const general = {
      limit: 9,
      window: '1h',
      name: 'all',
      store: new MemoryStore(),
      onStoreError: 'deny',
      localShare: 0.5,
      cost: 2,
    };
    expect(mergeOptions<Some>(general, { limiter })).toEqual({ limiter, cost: 2 });
  });
});
