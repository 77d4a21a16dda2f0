import type { StoreError } from '../errors.js';
import type { RedisClient } from './client.js';
import { ScriptRunner, type StoreStateEvent } from './script-runner.js';

type Answer = () => Promise<unknown>;

/** A client that answers each command as the next of `answers` says, and with the last one for ever. */
function clientOf(...answers: Answer[]): RedisClient & { calls: string[] } {
  const calls: string[] = [];
  const next = () => (answers.length > 1 ? (answers.shift() as Answer) : answers[0])();
  return {
    calls,
    evalsha: (...args) => {
      calls.push(`evalsha ${args.slice(2).join(' ')}`);
      return next();
    },
    eval: (...args) => {
      calls.push(`eval ${args.slice(2).join(' ')}`);
      return next();
    },
  };
}

const ok: Answer = async () => 'OK';
const hang: Answer = () => new Promise(() => {});
const fails =
  (message: string): Answer =>
  async () => {
    throw new Error(message);
  };
const NOSCRIPT = fails('NOSCRIPT No matching script. Please use EVAL.');

const read = (reply: unknown) => reply;
const run = (runner: ScriptRunner, key = 'k') => runner.run([key], Buffer.from('numbers'), read);
const codeOf = (promise: Promise<unknown>) =>
  promise.then(
    (value) => value,
    ({ code, outcome }: StoreError) => `${code.replace('ERR_SLUICE_STORE_', '')} ${outcome}`,
  );

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());
const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

describe('Running the script', () => {
  it('takes one command where the server knows it, and a second one where it does not', async () => {
    const client = clientOf(NOSCRIPT, ok);
    const runner = new ScriptRunner(client, 100);
    expect(await run(runner)).toBe('OK');
    expect(await run(runner)).toBe('OK');
    expect(client.calls).toEqual(['evalsha k numbers', 'eval k numbers', 'evalsha k numbers']);
  });

  it('sends nothing again after any other error', async () => {
    for (const message of ['Connection is closed.', 'READONLY no', 'LOADING wait', 'ERR what']) {
      const client = clientOf(fails(message));
      await codeOf(run(new ScriptRunner(client, 100)));
      expect(client.calls).toEqual(['evalsha k numbers']);
    }
  });

  it('gives up where even the whole script is not known', async () => {
    const client = clientOf(NOSCRIPT);
    expect(await codeOf(run(new ScriptRunner(client, 100)))).toBe('NOSCRIPT not-run');
    expect(client.calls).toEqual(['evalsha k numbers', 'eval k numbers']);
  });

  it('has one deadline for both commands', async () => {
    const slow: Answer = () => new Promise((_, reject) => setTimeout(() => NOSCRIPT().catch(reject), 60));
    const client = clientOf(slow, hang);
    const code = codeOf(run(new ScriptRunner(client, 100)));
    await pass(102);
    expect(await code).toBe('TIMEOUT unknown');
    expect(client.calls).toHaveLength(2);
  });

  it('is a StoreError also where a client throws at once, or answers at once', async () => {
    const client = clientOf(ok);
    client.evalsha = () => {
      throw new TypeError('no stream');
    };
    expect(await codeOf(run(new ScriptRunner(client, 100)))).toBe('CONNECTION unknown');
    client.evalsha = (() => 'OK') as unknown as RedisClient['evalsha'];
    expect(await run(new ScriptRunner(client, 100))).toBe('OK');
  });

  it('fails no call for the failure of another', async () => {
    const answers = Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? ok : fails('ERR what')));
    const runner = new ScriptRunner(clientOf(...answers), 100);
    const results = await Promise.allSettled(answers.map((_, i) => run(runner, `k${i}`)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(25);
  });
});

describe('A server that does not serve', () => {
  const away = async (client: RedisClient, events?: StoreStateEvent[]) => {
    const runner = new ScriptRunner(client, 100, events && ((event) => events.push(event)));
    for (let i = 0; i < 3; i++) {
      const code = codeOf(run(runner));
      await pass(102);
      await code;
    }
    return runner;
  };

  it('is not asked after three failures, then by one call at a time, until it answers', async () => {
    const events: StoreStateEvent[] = [];
    const client = clientOf(hang, hang, hang, hang, ok);
    const runner = await away(client, events);
    expect(client.calls).toHaveLength(3);
    expect(await codeOf(run(runner))).toBe('OPEN not-run');
    await expect(run(runner)).rejects.toMatchObject({ cause: { code: 'ERR_SLUICE_STORE_TIMEOUT' } });
    await pass(500);
    const probe = codeOf(run(runner));
    expect(await Promise.all(Array.from({ length: 50 }, () => codeOf(run(runner))))).toEqual(
      Array(50).fill('OPEN not-run'),
    );
    await pass(102);
    expect(await probe).toBe('TIMEOUT unknown');
    await pass(500);
    expect(await run(runner)).toBe('OK');
    expect(await Promise.all([run(runner), run(runner)])).toEqual(['OK', 'OK']);
    expect(client.calls).toHaveLength(7);
    expect(events).toEqual([
      { state: 'open', error: expect.objectContaining({ code: 'ERR_SLUICE_STORE_TIMEOUT' }) },
      { state: 'closed' },
    ]);
  });

  it('is warned of once in a process, unless somebody listens', async () => {
    Reflect.deleteProperty(globalThis, Symbol.for('sluice'));
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    await away(clientOf(hang, hang, hang), []);
    expect(warn).not.toHaveBeenCalled();
    await away(clientOf(hang, hang, hang));
    await away(clientOf(hang, hang, hang));
    expect(warn.mock.calls).toEqual([
      [
        expect.stringContaining('did not answer within 100 ms'),
        expect.objectContaining({ code: 'SLUICE_STORE_FAILING' }),
      ],
    ]);
    warn.mockRestore();
  });

  it('is told from one that does not know the script, and from an error of one key', async () => {
    const events: StoreStateEvent[] = [];
    const pairs = Array.from({ length: 10 }, () => [NOSCRIPT, fails('WRONGTYPE wrong kind')]).flat();
    const client = clientOf(...pairs, ok);
    const runner = new ScriptRunner(client, 100, (event) => events.push(event));
    for (let i = 0; i < 10; i++) expect(await codeOf(run(runner))).toMatch(/^ERR_SLUICE_STORE not-run$/);
    expect(await run(runner)).toBe('OK');
    expect(events).toEqual([]);
  });

  it('fails no request for a listener that throws, and lets its error be seen', async () => {
    const warn = jest.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const listeners: (() => void)[] = [
      () => {
        throw new Error('no log');
      },
      async () => {
        throw new Error('no log');
      },
    ];
    for (const listener of listeners) {
      const runner = new ScriptRunner(clientOf(fails('LOADING wait')), 100, listener);
      for (let i = 0; i < 3; i++) expect(await codeOf(run(runner))).toBe('LOADING not-run');
    }
    expect(warn.mock.calls).toEqual([[new Error('no log')], [new Error('no log')]]);
    warn.mockRestore();
  });
});
