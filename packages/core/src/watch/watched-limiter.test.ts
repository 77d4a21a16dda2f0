import {
  createLimiter,
  type DecidedEvent,
  type EvictedEvent,
  type LimiterOptions,
  MemoryStore,
  manualClock,
  type NearEvent,
} from '../index.js';

/** Ten per second, from the beginning of one. */
const open = (options: Partial<LimiterOptions> = {}) =>
  createLimiter({
    policies: [{ algorithm: 'fixed-window', limit: 10, window: '1s' }],
    clock: manualClock(0),
    ...options,
  });

describe('events', () => {
  test('denied tells of the key and the decision, of denied requests only', () => {
    const limiter = open();
    const events: DecidedEvent[] = [];
    limiter.on('denied', (event) => events.push(event));
    limiter.consume('a', { cost: 10 });
    const decision = limiter.consume('a', { cost: 2 });
    limiter.peek('a');
    expect(events).toEqual([{ key: 'a', decision }]);
    expect(events[0].decision).toBe(decision);
  });

  test('near is told of requests that would use 0.9 to 1.1 of the limit', () => {
    const limiter = open();
    const shares: number[] = [];
    limiter.on('near', ({ share }: NearEvent) => shares.push(share));
    limiter.consume('a', { cost: 8 }); // 8 of 10
    limiter.consume('a'); // 9
    limiter.consume('a'); // 10
    limiter.consume('a'); // would be 11
    limiter.consume('a', { cost: 2 }); // would be 12
    expect(shares).toEqual([0.9, 1, 1.1]);
  });

  test('near has a range of its own where one is given', () => {
    const limiter = open({ near: { from: 0.5, to: 0.7 } });
    const shares: number[] = [];
    limiter.on('near', ({ share }) => shares.push(share));
    for (let i = 0; i < 10; i++) limiter.consume('a');
    expect(shares).toEqual([0.5, 0.6, 0.7]);
  });

  test('near looks at the policy of which the greatest share is in use', () => {
    const limiter = open({
      policies: [
        { name: 'few', algorithm: 'fixed-window', limit: 2, window: '1s' },
        { name: 'many', algorithm: 'fixed-window', limit: 100, window: '1s' },
        { name: 'off', algorithm: 'fixed-window', limit: Infinity, window: '1s' },
      ],
    });
    const shares: number[] = [];
    limiter.on('near', ({ share }) => shares.push(share));
    limiter.consume('a');
    limiter.consume('a');
    expect(shares).toEqual([1]);
  });

  test('evicted tells of keys that a full store gave up before they were as new, and of no others', async () => {
    const clock = manualClock(0);
    const limiter = open({ store: new MemoryStore({ maxKeys: 2 }), clock });
    const events: EvictedEvent[] = [];
    limiter.on('evicted', (event) => events.push(event));
    for (const key of ['a', 'b', 'c']) limiter.consume(key);
    await null;
    expect(events).toEqual([{ key: 'a', denied: false }]);
    for (const key of ['b', 'c', 'b', 'c']) limiter.consume(key, { cost: 10 });
    limiter.consume('d');
    await null;
    expect(events.slice(1)).toEqual([{ key: 'b', denied: true }]);
    clock.advance(1000);
    limiter.consume('e');
    await null;
    expect(events).toHaveLength(2);
  });

  test('a listener of evicted may use the limiter, and disturbs no decision', async () => {
    const limiter = open({ store: new MemoryStore({ maxKeys: 2 }) });
    let told = 0;
    limiter.on('evicted', () => {
      told += 1;
      limiter.peek('vip', { cost: 7 });
      if (told < 10) limiter.consume(`new ${told}`, { cost: 2 });
    });
    for (const key of ['a', 'b', 'c']) expect(limiter.consume(key).remaining).toBe(9);
    await new Promise(setImmediate);
    expect(told).toBe(10);
    expect(limiter.peek('new 9').remaining).toBe(8);
    expect(limiter.peek('new 8').remaining).toBe(8);
  });

  test('a listener that is taken off hears no more', () => {
    const limiter = open();
    const listener = jest.fn();
    expect(limiter.on('denied', listener)).toBe(limiter);
    expect(limiter.off('denied', listener)).toBe(limiter);
    limiter.consume('a', { cost: 11 });
    expect(listener).not.toHaveBeenCalled();
  });

  test('a listener that throws or rejects is warned of, and fails neither the request nor the next listener', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const limiter = open();
    const listener = jest.fn();
    limiter.on('denied', () => {
      throw new Error('thrown');
    });
    limiter.on('denied', async () => {
      throw new Error('rejected');
    });
    limiter.on('denied', listener);
    expect(limiter.consume('a', { cost: 11 }).allowed).toBe(false);
    expect(listener).toHaveBeenCalledTimes(1);
    await new Promise(setImmediate);
    expect(warn.mock.calls.map(([error]) => (error as Error).message)).toEqual(['thrown', 'rejected']);
    warn.mockRestore();
  });

  test('an unknown event and a listener that is no function are refused', () => {
    const limiter = open();
    expect(() => limiter.on('deny' as 'denied', () => {})).toThrow(
      'Expected an event out of denied, near, degraded, recovered, evicted, candidate, got "deny".',
    );
    expect(() => limiter.on('denied', undefined as never)).toThrow('Expected `listener` to be a function');
  });
});

describe('shadow mode', () => {
  test('lets everything through, charges as ever, and tells what would have been', () => {
    const limiter = open({ mode: 'shadow' });
    const listener = jest.fn();
    limiter.on('denied', listener);
    expect(limiter.consume('a', { cost: 9 })).toMatchObject({ allowed: true, remaining: 1 });
    const decision = limiter.consume('a', { cost: 2 });
    expect(decision).toMatchObject({ allowed: true, remaining: 1, retryAfterMs: 0, resetMs: 1000 });
    expect(decision.policies[0]).toMatchObject({ allowed: false, retryAfterMs: 1000 });
    expect(listener.mock.calls[0][0].decision).toMatchObject({ allowed: false, retryAfterMs: 1000 });
    expect(limiter.peek('a', { cost: 2 })).toMatchObject({ allowed: true, retryAfterMs: 0 });
    expect(limiter.report()).toEqual({ decisions: 2, denied: 1 });
  });

  test('what was charged is given back and settled, and what would have been denied is not', () => {
    const limiter = open({ mode: 'shadow' });
    const admitted = limiter.consume('a', { cost: 9 });
    const denied = limiter.consume('a', { cost: 2 });
    limiter.refund(denied);
    denied.settle(5);
    expect(limiter.peek('a').remaining).toBe(1);
    admitted.settle(4);
    expect(limiter.peek('a').remaining).toBe(6);
    limiter.refund(admitted);
    expect(limiter.peek('a').remaining).toBe(10);
  });

  test('nothing waits in a queue, and what has a place gives it back', () => {
    const limiter = open({
      mode: 'shadow',
      policies: [{ algorithm: 'leaky-bucket', limit: 1, window: '1s', capacity: 2 }],
    });
    limiter.consume('a');
    const second = limiter.consume('a');
    expect(second).toMatchObject({ allowed: true, delayMs: 0 });
    expect(limiter.peek('a').remaining).toBe(0);
    limiter.refund(second);
    expect(limiter.peek('a').remaining).toBe(1);
  });
});

describe('a candidate', () => {
  const candidate = { policies: [{ algorithm: 'fixed-window', limit: 5, window: '1s' }] } as const;

  test('decides every request, changes no decision, and is compared', () => {
    const limiter = open({ candidate });
    const alone = open();
    const listener = jest.fn();
    limiter.on('candidate', listener);
    for (let i = 0; i < 12; i++) expect({ ...limiter.consume('a') }).toEqual({ ...alone.consume('a') });
    // 1 to 5 fit both, 6 to 10 only the limiter, 11 and 12 neither.
    expect(limiter.report()).toEqual({
      decisions: 12,
      denied: 2,
      candidate: { decisions: 12, denied: 7, onlyCandidateDenied: 5, onlyLimiterDenied: 0, failed: 0 },
    });
    expect(listener).toHaveBeenCalledTimes(5);
    expect(listener.mock.calls[0][0]).toMatchObject({
      key: 'a',
      decision: { allowed: true, remaining: 4 },
      candidate: { allowed: false, retryAfterMs: 1000 },
    });
  });

  test('is refunded, settled and reset with the limiter', () => {
    const limiter = open({ candidate });
    const first = limiter.consume('a', { cost: 4 });
    limiter.refund(first, 3);
    limiter.consume('a', { cost: 4 }).settle(2);
    // 1 + 2 of 5 are used.
    limiter.consume('a', { cost: 2 });
    expect(limiter.report()?.candidate).toMatchObject({ denied: 0 });
    limiter.reset('a');
    limiter.consume('a', { cost: 5 });
    expect(limiter.report()?.candidate).toMatchObject({ denied: 0, decisions: 4 });
  });

  test('compares what would have been in shadow mode', () => {
    const limiter = open({ candidate, mode: 'shadow' });
    expect(limiter.consume('a', { cost: 11 }).allowed).toBe(true);
    expect(limiter.report()).toMatchObject({ denied: 1, candidate: { denied: 1, onlyCandidateDenied: 0 } });
  });

  test('takes a name of its own on the store, and frees it', () => {
    const store = new MemoryStore();
    const limiter = open({ store, candidate });
    expect(() => open({ store, name: 'default~candidate' })).toThrow('"default~candidate"');
    limiter.close();
    open({ store, name: 'default~candidate' }).close();
  });
});

test('a limiter that nobody watches counts nothing', () => {
  const limiter = open();
  limiter.consume('a');
  expect(limiter.report()).toBeUndefined();
});

test.each([
  [{ mode: 'dry' }, 'Expected `mode` to be'],
  [{ candidate: 5 }, 'Expected `candidate` to be an object with policies, got 5.'],
  [{ candidate: { policies: [] } }, 'Expected `policies` to be an array of at least one policy'],
  [{ candidate: { limit: 5 } }, 'candidate'],
  [{ near: 0.9 }, 'Expected `near` to be an object such as { from: 0.9, to: 1.1 }, got 0.9.'],
  [{ near: { from: -1 } }, 'Expected `near.from` to be a number of at least 0, got -1.'],
  [{ near: { from: NaN } }, 'Expected `near.from` to be a number of at least 0, got NaN.'],
  [{ near: { from: 1.2 } }, 'Expected `near.from` to be at most 1.1'],
  [{ near: { above: 1 } }, 'near'],
  [
    { near: [0.9, 1.1] },
    'Expected `near` to be an object such as { from: 0.9, to: 1.1 }, got an array of 2.',
  ],
  [{ near: { from: 90, to: 110 } }, 'Expected `near.from` to be a share, such as 0.9 for 90 %, got 90.'],
  [{ candidate: [] }, 'Expected `candidate` to be an object with policies, got an array of 0.'],
  [{ audit: [] }, 'Expected `audit` to be an object such as { sample: 0.01 }, got an array of 0.'],
])('%j is refused, and takes no name', (options, message) => {
  const store = new MemoryStore();
  expect(() => open({ store, ...(options as object) })).toThrow(message);
  open({ store }).close();
});

describe('an audit', () => {
  const policies = [{ limit: 2, window: '1s' }] as const;

  test('finds what the counter lets through and the exact log would not', () => {
    const clock = manualClock();
    const limiter = open({ policies, clock, audit: { sample: 1 } });
    for (const at of [900, 900, 1500, 1800]) {
      clock.set(at);
      limiter.consume('user:42');
    }
    // At 1500 the counter takes two of 900 for one; both are still in the last second.
    expect(limiter.report()).toMatchObject({
      decisions: 4,
      denied: 1,
      audit: {
        policies: {
          default: {
            decisions: 4,
            exactDenies: 2,
            independent: { falseAllows: 1, falseDenies: 0 },
            worstBurst: 1.5,
          },
        },
      },
    });
  });

  test('sees what would have been in shadow mode, and a reset', () => {
    const limiter = open({ policies, mode: 'shadow', audit: { sample: 1 } });
    for (let i = 0; i < 3; i++) limiter.consume('a');
    limiter.reset('a');
    limiter.consume('a');
    expect(limiter.report()?.audit?.policies.default).toMatchObject({
      decisions: 4,
      exactDenies: 1,
      independent: { falseAllows: 0, falseDenies: 0 },
      unexplained: 0,
    });
  });

  test('of policies that are exact is refused', () => {
    expect(() =>
      open({ policies: [{ algorithm: 'gcra', limit: 1, window: '1s' }], audit: { sample: 1 } }),
    ).toThrow('Expected `audit` to have a policy that estimates');
  });
});

describe('blocks', () => {
  const blocking = {
    algorithm: 'fixed-window',
    limit: 1,
    window: '1s',
    block: { after: 1, for: '1m' },
  } as const;

  test('are told of by denied, and not by near', () => {
    const limiter = open({ policies: [blocking] });
    const denied: unknown[] = [];
    const near: number[] = [];
    limiter.on('denied', ({ decision }) => denied.push(decision.block));
    limiter.on('near', ({ share }) => near.push(share));
    for (let i = 0; i < 3; i++) limiter.consume('a');
    const block = { policy: 'default', by: 'policy' };
    expect(denied).toEqual([block, block]);
    expect(near).toEqual([1]);
  });

  test('let everything through in shadow mode, and are told of all the same', () => {
    const limiter = open({ policies: [blocking], mode: 'shadow' });
    const denied: unknown[] = [];
    limiter.on('denied', ({ decision }) => denied.push(decision.block));
    limiter.block('a', '1h');
    const told = limiter.consume('a');
    expect(told).toMatchObject({ allowed: true, retryAfterMs: 0, delayMs: 0 });
    expect(told).not.toHaveProperty('block');
    expect(told.policies[0]).toMatchObject({ allowed: false, blockedBy: 'hand', retryAfterMs: 3_600_000 });
    expect(denied).toEqual([{ policy: 'default', by: 'hand' }]);
  });

  test('by hand are of a candidate too; of its own it has those of its policies', () => {
    const plain = { algorithm: 'fixed-window', limit: 1, window: '1s' } as const;
    const clock = manualClock(0);
    const limiter = open({ policies: [plain], candidate: { policies: [blocking] }, clock });
    limiter.block('a', '1h');
    limiter.consume('a');
    limiter.unblock('a');
    limiter.consume('a');
    expect(limiter.report()?.candidate).toMatchObject({ decisions: 2, denied: 1, onlyCandidateDenied: 0 });
    limiter.consume('a');
    clock.set(1000);
    expect(limiter.consume('a').allowed).toBe(true);
    expect(limiter.report()?.candidate).toMatchObject({ decisions: 4, denied: 3, onlyCandidateDenied: 1 });
  });
});
