import { manualClock } from '../clock.js';
import { createLimiter } from '../create-limiter.js';
import type { RequestOptions } from '../limiter.js';
import { MemoryStore } from '../memory/memory-store.js';
import type { Decision, Policy } from '../types.js';
import { Audit, type AuditOptions } from './audit.js';

type Step = readonly [at: number, options?: RequestOptions & { key?: string }];

function stage(policies: readonly Policy[], options: AuditOptions = { sample: 1 }) {
  const clock = manualClock();
  const limiter = createLimiter({ policies, clock, store: new MemoryStore() });
  const audit = new Audit(limiter.policies, options);
  const consume = (at: number, { key = 'a', ...request }: Step[1] = {}): Decision => {
    clock.set(at);
    const decision = limiter.consume(key, request);
    audit.observe(key, decision);
    return decision;
  };
  const play = (...steps: Step[]) => {
    for (const [at, request] of steps) consume(at, request);
    return audit.report();
  };
  return { clock, limiter, audit, consume, play };
}

const counter = { limit: 2, window: 1000 } as const;

describe('An audit', () => {
  it('counts a false deny: the counter still counts what has left the window', () => {
    // At 1000 both of 0 are a whole window old, and the counter counts them in full.
    // At 1500 they count as one. The counter has admitted nothing since, the log one; each admits.
    // Had all been counted, the counter would hold 1 + 1, the log 1.
    expect(stage([counter]).play([0], [0], [1000], [1500])).toEqual({
      sample: 1,
      heldKeys: 1,
      evictions: 0,
      degraded: 0,
      policies: {
        default: {
          decisions: 4,
          exactDenies: 0,
          independent: { falseAllows: 0, falseDenies: 1 },
          sameHistory: { falseAllows: 0, falseDenies: 2 },
          worstBurst: 1,
          keys: 1,
          unexplained: 0,
        },
      },
    });
  });

  it.each([false, true])(
    'leaves out what a block denies, but for the strike that began it (countDenied: %s)',
    (countDenied) => {
      const block = { after: 1, for: 5000 };
      const { audit, consume, limiter } = stage([
        { algorithm: 'fixed-window', limit: 2, window: 1000, countDenied, block },
      ]);
      // Two fit, the third is a strike, the rest is denied by the block: the log would admit those of 2000 on.
      for (const at of [0, 0, 0, 500, 2000, 4999]) consume(at);
      consume(5000);
      limiter.block('a', 100);
      consume(5001);
      expect(consume(5101).allowed).toBe(true);
      expect(audit.report().policies.default).toMatchObject({
        decisions: 5,
        exactDenies: 1,
        independent: { falseAllows: 0, falseDenies: 0 },
        unexplained: 0,
      });
    },
  );

  it('counts a false allow, and the burst that it made', () => {
    // At 1500 the two of 900 count as one, and are both in the window: 3 of 2 are admitted in it.
    // At 1800 they count as 0.4: with the one of 1500, as little as needs 2. The log has the two of 900.
    expect(stage([counter]).play([900], [900], [1500], [1800]).policies.default).toMatchObject({
      decisions: 4,
      exactDenies: 2,
      independent: { falseAllows: 1, falseDenies: 0 },
      sameHistory: { falseAllows: 1, falseDenies: 0 },
      worstBurst: 1.5,
    });
  });

  it('finds twice the limit at the edge of a fixed window', () => {
    const { play } = stage([{ ...counter, algorithm: 'fixed-window' }]);
    expect(play([999], [999], [1000], [1000], [1000]).policies.default).toMatchObject({
      decisions: 5,
      exactDenies: 3,
      independent: { falseAllows: 2, falseDenies: 0 },
      sameHistory: { falseAllows: 2, falseDenies: 0 },
      worstBurst: 2,
    });
  });

  it('finds no burst in the guarded ring, and counts how late it is', () => {
    const { play } = stage([{ ...counter, buckets: 10, edge: 'keep' }]);
    // The entry of 0 leaves the log at 1000 and the ring at 1100.
    expect(play([0], [0], [1000], [1100]).policies.default).toMatchObject({
      independent: { falseAllows: 0, falseDenies: 1 },
      worstBurst: 1,
    });
  });

  it('judges by the cost and the limit of the request', () => {
    const { play } = stage([{ limit: 10, window: 1000 }]);
    const steps: Step[] = [
      [900, { cost: 10 }],
      // A tenth of the window later nine of them count for the counter, and ten for the log.
      [1100, { limit: 20, cost: 11 }],
      [1100, { limit: 8 }],
    ];
    expect(play(...steps).policies.default).toMatchObject({
      decisions: 3,
      exactDenies: 2,
      independent: { falseAllows: 1, falseDenies: 0 },
      worstBurst: 21 / 20,
    });
  });

  it('counts a request above its limit as denied by both, and in no history', () => {
    const { play } = stage([counter]);
    const { default: found } = play([0, { cost: 3 }], [0, { limit: 0 }], [0], [0]).policies;
    const none = { falseAllows: 0, falseDenies: 0 };
    expect(found).toMatchObject({ decisions: 4, exactDenies: 2, independent: none, sameHistory: none });
  });

  it('leaves out what no policy has to decide: a cost of 0, and a policy without a limit', () => {
    const { play } = stage([counter]);
    const { heldKeys, policies } = play([0, { cost: 0 }], [0, { limit: Infinity }]);
    expect(heldKeys).toBe(0);
    expect(policies.default).toMatchObject({ decisions: 0, keys: 0, worstBurst: 0 });
  });

  it('takes what counts denied requests beside a log that counts them as well', () => {
    const { play } = stage([{ ...counter, algorithm: 'fixed-window', countDenied: true }]);
    // All six count: the log denies at 1000 and at 1100, where it has three or more.
    const { default: found } = play([100], [900], [950], [1000], [1100], [1200]).policies;
    expect(found).toMatchObject({
      decisions: 6,
      exactDenies: 4,
      independent: { falseAllows: 2, falseDenies: 0 },
      sameHistory: { falseAllows: 2, falseDenies: 0 },
      unexplained: 0,
    });
  });

  describe('of several policies', () => {
    const first: Policy = { name: 'first', limit: 1, window: 100, algorithm: 'sliding-window-log' };
    const second: Policy = { name: 'second', limit: 2, window: 1000 };

    it('looks at those that estimate', () => {
      const { play } = stage([first, second, { name: 'third', algorithm: 'gcra', limit: 9, window: 1000 }]);
      expect(Object.keys(play([0]).policies)).toEqual(['second']);
    });

    it('counts only what was for the policy to decide, and charges no log with what another denied', () => {
      const { play } = stage([first, second]);
      // The second of each pair is denied by the first policy: nobody admits it, so at 500 there is room for one.
      expect(play([0], [50], [500], [550], [800]).policies.second).toMatchObject({
        decisions: 3,
        exactDenies: 1,
        independent: { falseAllows: 0, falseDenies: 0 },
        // All that came: at 500 there are two before.
        sameHistory: { falseAllows: 0, falseDenies: 0 },
        worstBurst: 1,
        unexplained: 0,
      });
    });

    it('explains what one that counts denied requests says when another denies', () => {
      const { play } = stage([first, { ...second, countDenied: true }]);
      expect(play([0], [50], [60], [500], [1500]).policies.second).toMatchObject({ unexplained: 0 });
    });
  });

  describe('of what it has not seen', () => {
    it('says how many decisions do not follow from what it observed', () => {
      const { limiter, consume, audit } = stage([{ limit: 10, window: 1000, algorithm: 'fixed-window' }]);
      consume(0);
      limiter.consume('a');
      consume(0);
      limiter.refund(consume(1000));
      consume(1000);
      consume(2000);
      expect(audit.report().policies.default.unexplained).toBe(2);
    });

    it('looks at no decision that was made without the store, and says how many there were', () => {
      const { limiter, audit } = stage([counter]);
      const made = limiter.consume('a');
      const degraded = Object.assign(Object.create(Object.getPrototypeOf(made)), made, { degraded: true });
      audit.observe('a', degraded);
      expect(audit.report()).toMatchObject({
        degraded: 1,
        heldKeys: 0,
        policies: { default: { decisions: 0 } },
      });
    });

    it('begins anew with a key that is reset', () => {
      const { limiter, consume, audit } = stage([counter]);
      for (let i = 0; i < 3; i++) consume(0);
      limiter.reset('a');
      audit.reset('a');
      consume(0);
      expect(audit.report().policies.default).toMatchObject({ exactDenies: 1, keys: 2, unexplained: 0 });
    });

    it('takes no note of keys that are not in the sample', () => {
      const { play } = stage([counter], { sample: 1e-6 });
      const { degraded, heldKeys, policies } = play([0], [0], [0]);
      expect({ degraded, heldKeys }).toEqual({ degraded: 0, heldKeys: 0 });
      expect(policies.default.decisions).toBe(0);
    });
  });

  describe('in little room', () => {
    it('forgets a key after two windows of silence', () => {
      const { consume, audit } = stage([counter]);
      for (let i = 0; i < 1000; i++) consume(i * 100, { key: `k${i}` });
      expect(audit.report()).toMatchObject({
        evictions: 0,
        policies: { default: { keys: 1000, unexplained: 0 } },
      });
      expect(audit.report().heldKeys).toBeLessThanOrEqual(20);
    });

    it('begins a key anew that comes back after that', () => {
      const { play } = stage([counter]);
      expect(play([0], [0], [2000], [2001]).policies.default).toMatchObject({ keys: 2, unexplained: 0 });
    });

    it('gives up the key that was silent for longest when there are too many', () => {
      const { play } = stage([counter], { sample: 1, maxKeys: 2 });
      const steps = ['a', 'b', 'a', 'c', 'a', 'b'].map((key): Step => [0, { key }]);
      const { heldKeys, evictions, policies } = play(...steps);
      // The third is b's, which had to go for c; c had to go for b.
      expect({ heldKeys, evictions }).toEqual({ heldKeys: 2, evictions: 2 });
      expect(policies.default).toMatchObject({ keys: 4, unexplained: 1 });
    });

    it('gives up keys that are within their number, but hold too much', () => {
      const { consume, audit } = stage([{ limit: 1_000_000, window: '1h' }], { sample: 1, maxKeys: 10 });
      // Each entry is six numbers, three times an instant and a sum: three of these keys are more than 2^18 numbers.
      for (let i = 0; i < 45_000; i++) consume(i, { key: `k${i % 3}` });
      expect(audit.report().evictions).toBe(1);
    });

    it('holds long keys by their digest', () => {
      const { play } = stage([counter]);
      const key = 'x'.repeat(1000);
      expect(play([0, { key }], [0, { key }], [0, { key }])).toMatchObject({
        heldKeys: 1,
        policies: { default: { exactDenies: 1 } },
      });
    });
  });

  it('keeps a policy of any name apart', () => {
    const { play } = stage([{ ...counter, name: '__proto__' }]);
    expect(Object.entries(play([0]).policies)).toMatchObject([['__proto__', { decisions: 1 }]]);
  });

  describe('refuses', () => {
    const { policies } = createLimiter({ policies: [counter] });
    it.each<[unknown, string]>([
      [undefined, 'Expected `audit` to be an object such as { sample: 0.01 }, got undefined.'],
      [true, 'Expected `audit` to be an object such as { sample: 0.01 }, got true.'],
      [{}, 'Expected `audit.sample` to be a number above 0, at most 1, got undefined.'],
      [{ sample: 0 }, 'Expected `audit.sample` to be a number above 0, at most 1, got 0.'],
      [{ sample: 1.01 }, 'Expected `audit.sample` to be a number above 0, at most 1, got 1.01.'],
      [{ sample: NaN }, 'Expected `audit.sample` to be a number above 0, at most 1, got NaN.'],
      [{ sample: '0.1' }, 'Expected `audit.sample` to be a number above 0, at most 1, got "0.1".'],
      [{ sample: 1, maxKeys: 0 }, 'Expected `audit.maxKeys` to be an integer from 1 to 2^20, got 0.'],
      [{ sample: 1, maxkeys: 5 }, 'Expected no option that audit does not have'],
    ])('the options %j', (options, message) => {
      const make = () => new Audit(policies, options as AuditOptions);
      expect(make).toThrow(message);
      expect(make).toThrow(expect.objectContaining({ code: 'ERR_SLUICE_OPTION', name: 'ArgumentError' }));
    });

    it.each([[undefined], [{}], [[{ limit: 1, window: '1m' }]]])('the policies %j', (wrong) => {
      expect(() => new Audit(wrong as never, { sample: 1 })).toThrow(
        'Expected `policies` to be those of a limiter, which are limiter.policies, got',
      );
    });

    it('a limiter that does not estimate', () => {
      const exact = createLimiter({
        policies: [
          { limit: 1, window: 1000, algorithm: 'sliding-window-log' },
          { limit: 1, window: 1000, algorithm: 'token-bucket' },
        ],
      });
      expect(() => new Audit(exact.policies, { sample: 1 })).toThrow(
        'Expected `audit` to have a policy that estimates (fixed-window, sliding-window-counter), got sliding-window-log, token-bucket.',
      );
    });
  });
});
