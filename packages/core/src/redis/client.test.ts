import { EventEmitter } from 'node:events';
import { Connection, parseClient, type RedisClient } from './client.js';
import { RedisStore } from './redis-store.js';

const commands = { evalsha: async () => [], eval: async () => [] };

/** A client that says what state it is in. */
class Stateful extends EventEmitter {
  status = 'connecting';
  evalsha = commands.evalsha;
  eval = commands.eval;
  become(status: string): void {
    this.status = status;
    this.emit(status);
  }
}

describe('A client that is none', () => {
  class Redis {
    evalsha() {}
  }
  const wrong: readonly [string, unknown, string][] = [
    ['nothing', undefined, 'with evalsha and eval), got undefined.'],
    ['an address', 'redis://localhost', 'with evalsha and eval), got "redis://localhost".'],
    ['options', { host: 'localhost' }, 'with evalsha and eval), got an object.'],
    [
      'one of node-redis',
      { evalSha() {}, eval() {} },
      'got one of node-redis: give fromNodeRedis(client) instead.',
    ],
    [
      'a promise of one',
      Promise.resolve(commands),
      'got a promise: give what it resolves to, await it first.',
    ],
    ['a class', Redis, 'got a class or function: give an instance, such as new Redis().'],
    ['a nameless function', () => commands, 'give an instance, such as new Redis().'],
  ];
  it.each(wrong)('is refused with a sentence that says what to do: %s', (_, client, sentence) => {
    const open = () => new RedisStore({ client } as never);
    expect(open).toThrow(sentence);
    expect(open).toThrow(expect.objectContaining({ name: 'ArgumentError', code: 'ERR_SLUICE_OPTION' }));
  });

  it('is not told by its class or name', () => {
    expect(parseClient(commands)).toBe(commands);
  });
});

describe('The options of a RedisStore', () => {
  const wrong: readonly [string, object, string][] = [
    ...[0, -1, 0.5, NaN, Infinity, '100', '1.5s', 'soon', null, {}].map(
      (timeout): [string, object, string] => [String(timeout), { timeout }, '`timeout` to be a duration: '],
    ),
    ['a month', { timeout: '30d' }, '`timeout` to be at most 24 days, got "30d".'],
    ['no function', { onStateChange: 'log' }, '`onStateChange` to be a function, got "log".'],
    ['an unknown one', { timeOut: 5 }, 'got `timeOut` (did you mean `timeout`?)'],
  ];
  it.each(wrong)('are refused in one sentence: %s', (_, options, sentence) => {
    expect(() => new RedisStore({ client: commands, ...options } as never)).toThrow(sentence);
  });

  it('are refused where a client stands in their place', () => {
    for (const client of [commands, { evalSha: () => {} }]) {
      expect(() => new RedisStore(client as never)).toThrow('an object such as { client }, got a client.');
    }
  });

  it('take any duration that a timer can', () => {
    for (const timeout of [1, 100, '100ms', '24d'] as const) {
      expect(new RedisStore({ client: commands, timeout }).async).toBe(true);
    }
  });
});

describe('A client that sends commands again by itself', () => {
  const warnings = () => {
    const seen: unknown[] = [];
    jest.spyOn(process, 'emitWarning').mockImplementation((...args: unknown[]) => void seen.push(args));
    return seen;
  };
  afterEach(() => jest.restoreAllMocks());

  /** The store as a process of its own would load it. */
  const freshStore = () => {
    Reflect.deleteProperty(globalThis, Symbol.for('sluice'));
    return RedisStore;
  };

  it.each([
    [{ options: { autoResendUnfulfilledCommands: true } }, 'autoResendUnfulfilledCommands: false'],
    [{ isCluster: true, options: { retryDelayOnFailover: 100 } }, 'retryDelayOnFailover: 0'],
  ])('is warned of once per process, with the option to set: %j', (more, option) => {
    const seen = warnings();
    const Store = freshStore();
    for (let i = 0; i < 3; i++) new Store({ client: { ...commands, ...more } as RedisClient });
    expect(seen).toEqual([
      [
        expect.stringContaining(option),
        expect.objectContaining({ type: 'SluiceWarning', code: 'SLUICE_RESENDING_CLIENT' }),
      ],
    ]);
  });

  it('is told from one that does not', () => {
    const seen = warnings();
    const Store = freshStore();
    const others = [
      {},
      { options: {} },
      { options: { autoResendUnfulfilledCommands: false } },
      { isCluster: true, options: { retryDelayOnFailover: 0 } },
      { isCluster: true, options: {} },
    ];
    for (const more of others) new Store({ client: { ...commands, ...more } as RedisClient });
    expect(seen).toEqual([]);
  });
});

describe('Whether a command was sent', () => {
  it('is known to be false while the client has not been ready since', () => {
    const client = new Stateful();
    const connection = new Connection(client);
    const mark = connection.mark();
    expect(connection.neverSent(mark)).toBe(true);
    client.become('reconnecting');
    expect(connection.neverSent(mark)).toBe(true);
  });

  it('is not known once it was ready, if only for a moment', () => {
    const client = new Stateful();
    const connection = new Connection(client);
    const mark = connection.mark();
    client.become('ready');
    expect(connection.neverSent(mark)).toBe(false);
    client.become('close');
    expect(connection.neverSent(mark)).toBe(false);
    expect(connection.neverSent(connection.mark())).toBe(true);
  });

  it('is not known of a command that was given to a client that was ready', () => {
    const client = new Stateful();
    const connection = new Connection(client);
    client.become('ready');
    const mark = connection.mark();
    client.become('close');
    expect(connection.neverSent(mark)).toBe(false);
  });

  it('is not known where the client does not tell its state, or cannot be listened to', () => {
    for (const client of [commands, { ...commands, status: 'connecting' }]) {
      const connection = new Connection(client);
      expect(connection.neverSent(connection.mark())).toBe(false);
    }
  });

  it('takes one listener per client, whatever stores there are', () => {
    const client = new Stateful();
    for (let i = 0; i < 20; i++) new RedisStore({ client });
    expect(client.listenerCount('ready')).toBe(1);
  });
});
