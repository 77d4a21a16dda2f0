import { ArgumentError, createLimiter, MemoryStore, manualClock } from '@sluice/core';
import { RedisStore } from '@sluice/core/redis';

/** The error that the work ends in. */
function errorOf(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error('Nothing was wrong.');
}

/** One sentence: which option was expected to be what, and what came. */
function expectRefusal(work: () => unknown, code: string, option: string, got: string): void {
  const error = errorOf(work);
  expect(error).toBeInstanceOf(ArgumentError);
  expect(error).toBeInstanceOf(TypeError);
  expect(error).toMatchObject({ name: 'ArgumentError', code });
  const { message } = error as Error;
  expect(message.startsWith(`Expected \`${option}\` to be `)).toBe(true);
  expect(message.endsWith(`, got ${got}.`)).toBe(true);
}

const nothing = Symbol('left out');
type Options = Record<string, unknown>;

const withPolicy = (policy: unknown) => () => createLimiter({ policies: [policy] } as never);

const base: Options = { limit: 5, window: '1m' };
const defaults = [
  'algorithm',
  'buckets',
  'edge',
  'rounding',
  'countDenied',
  'burst',
  'capacity',
  'maxDelay',
  'block',
];

const bases: Record<string, Options> = {
  burst: { ...base, algorithm: 'token-bucket' },
  capacity: { ...base, algorithm: 'leaky-bucket' },
  maxDelay: { ...base, algorithm: 'leaky-bucket' },
};

/** Option, wrong value, and how the message shows it. */
const wrong: [option: string, value: unknown, shown: string][] = [
  ['limit', '10', '"10"'],
  ['limit', -1, '-1'],
  ['limit', 1.5, '1.5'],
  ['limit', Number.NaN, 'NaN'],
  ['limit', -Infinity, '-Infinity'],
  ['limit', null, 'null'],
  ['limit', nothing, 'undefined'],
  ['limit', 10n, '10n'],
  ['limit', true, 'true'],
  ['limit', [5], 'an array of 1'],
  ['limit', {}, 'an object'],
  ['limit', () => 5, 'a function'],
  ['limit', Promise.resolve(5), 'a promise'],
  ['limit', 2 ** 53, '9007199254740992'],
  ['window', nothing, 'undefined'],
  ['window', null, 'null'],
  ['window', 0, '0'],
  ['window', -1000, '-1000'],
  ['window', 0.5, '0.5'],
  ['window', Number.NaN, 'NaN'],
  ['window', Infinity, 'Infinity'],
  ['window', 1e15 + 1, '1000000000000001'],
  ['window', '', '""'],
  ['window', '60', '"60"'],
  ['window', '1 m', '"1 m"'],
  ['window', '1M', '"1M"'],
  ['window', '1month', '"1month"'],
  ['window', '1.5s', '"1.5s"'],
  ['window', '-1s', '"-1s"'],
  ['window', '0s', '"0s"'],
  ['window', 's', '"s"'],
  ['window', '1e3s', '"1e3s"'],
  ['window', '9999999999999w', '"9999999999999w"'],
  ['algorithm', 'fixed', '"fixed"'],
  ['algorithm', 'constructor', '"constructor"'],
  ['algorithm', 7, '7'],
  ['buckets', 0, '0'],
  ['buckets', 1.5, '1.5'],
  ['buckets', '4', '"4"'],
  ['buckets', Infinity, 'Infinity'],
  ['edge', 'drops', '"drops"'],
  ['edge', true, 'true'],
  ['rounding', 'up', '"up"'],
  ['countDenied', 1, '1'],
  ['countDenied', 'true', '"true"'],
  ['burst', 0, '0'],
  ['burst', -5, '-5'],
  ['burst', 2.5, '2.5'],
  ['burst', '5', '"5"'],
  ['burst', Infinity, 'Infinity'],
  ['capacity', 0, '0'],
  ['capacity', 2.5, '2.5'],
  ['capacity', '5', '"5"'],
  ['maxDelay', 0, '0'],
  ['maxDelay', '1 s', '"1 s"'],
  ['name', '', '""'],
  ['name', 'a:b', '"a:b"'],
  ['name', 'a{b', '"a{b"'],
  ['name', 'a}b', '"a}b"'],
  ['name', 'a"b', '"a\\"b"'],
  ['name', 'a\\b', '"a\\\\b"'],
  ['name', 'a\nb', '"a\\nb"'],
  ['name', 'é', '"é"'],
  ['name', 7, '7'],
  ['name', null, 'null'],
  // A default stands in for what is left out, not for what is wrong.
  ...defaults.map((option): [string, unknown, string] => [option, null, 'null']),
];

describe('A policy is refused at construction', () => {
  it.each(wrong)('for %s: %p', (option, value, shown) => {
    const { [option]: _, ...rest } = bases[option] ?? base;
    const policy = value === nothing ? rest : { ...rest, [option]: value };
    expectRefusal(withPolicy(policy), 'ERR_SLUICE_POLICY', option, shown);
  });

  it('in exactly one sentence for a limit that is text', () => {
    expect(errorOf(withPolicy({ limit: '10', window: '1m' }))).toMatchObject({
      message: 'Expected `limit` to be an integer >= 0 or Infinity, got "10".',
    });
  });

  it.each([
    ['fixed-window', 'burst', 5],
    ['fixed-window', 'buckets', 2],
    ['fixed-window', 'edge', 'drop'],
    ['sliding-window-log', 'countDenied', true],
    ['sliding-window-log', 'rounding', 'down'],
    ['sliding-window-counter', 'burst', 5],
    ['sliding-window-counter', 'capacity', 5],
    ['token-bucket', 'capacity', 5],
    ['token-bucket', 'countDenied', true],
    ['gcra', 'buckets', 4],
    ['gcra', 'capacity', 5],
    ['token-bucket', 'maxDelay', 5],
    ['sliding-window-counter', 'maxDelay', '5s'],
    ['leaky-bucket', 'burst', 5],
    ['leaky-bucket', 'max', 5],
  ])('for an option that means nothing to %s: %s', (algorithm, option, value) => {
    const error = errorOf(withPolicy({ ...base, algorithm, [option]: value })) as ArgumentError;
    expect(error).toMatchObject({ name: 'ArgumentError', code: 'ERR_SLUICE_POLICY' });
    expect(error.message).toContain(`got \`${option}\``);
    expect(error.message).toContain(algorithm);
  });

  it.each<[string, unknown, string]>([
    ['block', true, 'true'],
    ['block', '10m', '"10m"'],
    ['block', null, 'null'],
    ['block.after', { for: '10m' }, 'undefined'],
    ['block.after', { after: 0, for: '10m' }, '0'],
    ['block.after', { after: 1.5, for: '10m' }, '1.5'],
    ['block.for', { after: 1 }, 'undefined'],
    ['block.for', { after: 1, for: Infinity }, 'Infinity'],
    ['block.for', { after: 1, for: '10' }, '"10"'],
    ['block.grow', { after: 1, for: '10m', grow: 0.5 }, '0.5'],
    ['block.grow', { after: 1, for: '10m', grow: 1.0001 }, '1.0001'],
    ['block.grow', { after: 1, for: '10m', grow: 1001 }, '1001'],
    ['block.grow', { after: 1, for: '10m', grow: NaN }, 'NaN'],
    ['block.grow', { after: 1, for: '10m', grow: '2' }, '"2"'],
    ['block.max', { after: 1, for: '10m', grow: 2, max: '9m' }, '"9m"'],
    ['block.max', { after: 1, for: '10m', grow: 2, max: Infinity }, 'Infinity'],
  ])('for a block that is none: %s of %j', (option, block, shown) => {
    expectRefusal(withPolicy({ ...base, block }), 'ERR_SLUICE_POLICY', option, shown);
  });

  it('for an option that a block does not have', () => {
    const error = errorOf(
      withPolicy({ ...base, block: { after: 1, for: '10m', until: 5 } }),
    ) as ArgumentError;
    expect(error.message).toContain('got `block.until`. It has after, for, grow, max.');
  });

  it('for a window that its buckets do not divide', () => {
    expectRefusal(withPolicy({ limit: 5, window: 1000, buckets: 3 }), 'ERR_SLUICE_POLICY', 'window', '1000');
  });

  it('for a rate that gcra cannot hold exactly, and the message names token-bucket, which can', () => {
    const policy = { algorithm: 'gcra', limit: 1_000_003, window: 1000 };
    const error = errorOf(withPolicy(policy)) as ArgumentError;
    expect(error).toMatchObject({ name: 'ArgumentError', code: 'ERR_SLUICE_POLICY' });
    expect(error.message).toContain('token-bucket');
    expect(createLimiter({ policies: [{ ...policy, algorithm: 'token-bucket' }] }).consume('a').allowed).toBe(
      true,
    );
  });

  it('with its place in front where there are several', () => {
    const policies = [base, { ...base, limit: -1 }];
    expectRefusal(() => createLimiter({ policies } as never), 'ERR_SLUICE_POLICY', 'policies[1].limit', '-1');
  });

  it('if another has its name, given or by place', () => {
    const policies = [{ ...base, name: '2' }, base];
    const error = errorOf(() => createLimiter({ policies } as never));
    expect(error).toMatchObject({ code: 'ERR_SLUICE_POLICY', message: expect.stringContaining('"2" twice') });
  });

  it.each([[undefined], [null], [[]], [{}], ['x'], [7]])('if policies is %p', (policies) => {
    const error = errorOf(() => createLimiter({ policies } as never));
    expect(error).toMatchObject({ name: 'ArgumentError', code: 'ERR_SLUICE_POLICY' });
    expect((error as Error).message).toMatch(/^Expected `policies` to be .*, got .*\.$/);
  });

  it.each([[null], [7], ['x'], [[]], [undefined]])('if it is %p', (policy) => {
    expect(errorOf(withPolicy(policy))).toMatchObject({ name: 'ArgumentError', code: 'ERR_SLUICE_POLICY' });
  });
});

describe('An option is refused at construction', () => {
  const client = { evalsha: async () => 0, eval: async () => 0 };
  const limiter = (options: Options) => () => createLimiter({ policies: [base], ...options } as never);
  const redis = (options: unknown) => () => new RedisStore(options as never);
  const memory = (options: unknown) => () => new MemoryStore(options as never);

  it.each(
    [
      ['name', limiter({ name: 'a:b' }), '"a:b"'],
      ['name', limiter({ name: 7 }), '7'],
      ['clock', limiter({ clock: {} }), 'an object'],
      ['clock', limiter({ clock: null }), 'null'],
      ['store', limiter({ store: {} }), 'an object'],
      ['store', limiter({ store: null }), 'null'],
      ['store', limiter({ store: client }), 'an object'],
      ['options', () => createLimiter(undefined as never), 'undefined'],
      ['options', () => createLimiter(null as never), 'null'],
      ['options', () => createLimiter('x' as never), '"x"'],
      ['name', limiter({ name: null }), 'null'],
      ['options', memory(null), 'null'],
      ['options', memory(5), '5'],
      ['maxKeys', memory({ maxKeys: null }), 'null'],
      ['maxKeys', memory({ maxKeys: 0 }), '0'],
      ['maxKeys', memory({ maxKeys: 1.5 }), '1.5'],
      ['maxKeys', memory({ maxKeys: '5' }), '"5"'],
      ['maxKeys', memory({ maxKeys: Infinity }), 'Infinity'],
      ['options', redis(undefined), 'undefined'],
      ['options', redis(null), 'null'],
      ['client', redis({}), 'undefined'],
      ['client', redis({ client: null }), 'null'],
      ['client', redis({ client: { evalsha: client.evalsha } }), 'an object'],
      ['prefix', redis({ client, prefix: null }), 'null'],
      ['prefix', redis({ client, prefix: '' }), '""'],
      ['prefix', redis({ client, prefix: 'a{' }), '"a{"'],
      ['prefix', redis({ client, prefix: 'é' }), '"é"'],
      ['prefix', redis({ client, prefix: 7 }), '7'],
    ].filter(([, , , fine]) => fine === undefined) as [string, () => unknown, string][],
  )('%s', (option, work, shown) => {
    expectRefusal(work, 'ERR_SLUICE_OPTION', option, shown);
  });

  it('if there is none of that name', () => {
    const unknown = [
      limiter({ policy: base }),
      limiter({ prefix: 'rl' }),
      memory({ maxkeys: 5 }),
      redis({ client, keyPrefix: 'rl' }),
    ];
    for (const work of unknown) {
      expect(errorOf(work)).toMatchObject({ name: 'ArgumentError', code: 'ERR_SLUICE_OPTION' });
    }
  });

  it('of a manual clock, at once and whenever it is set', () => {
    const clock = manualClock(5);
    for (const work of [
      () => manualClock(-1),
      () => manualClock(1.5),
      () => manualClock(Number.NaN),
      () => clock.set(-1),
      () => clock.advance(0.5),
      () => clock.advance(-6),
    ]) {
      expect(errorOf(work)).toMatchObject({ name: 'ArgumentError', code: 'ERR_SLUICE_ARGUMENT' });
    }
    expect(clock.now()).toBe(5);
  });
});
