import { EventEmitter } from 'node:events';
import {
  createLimiter,
  LayeredStore,
  type ManualClock,
  manualClock,
  type Policy,
  type Transport,
} from '../index.js';

const policy: Policy = { algorithm: 'fixed-window', limit: 20, window: '1d' };
const clock = manualClock(1000);

/** What carries messages between processes, which may lose some, or say them twice. */
class Air {
  readonly sent: string[] = [];
  loses = false;
  twice = false;
  readonly #emitter = new EventEmitter();

  transport(): Transport {
    return {
      publish: (message) => {
        this.sent.push(message);
        for (let i = 0; i < (this.loses ? 0 : this.twice ? 2 : 1); i++)
          this.#emitter.emit('message', message);
      },
      subscribe: (listener) => {
        this.#emitter.on('message', listener);
        return () => this.#emitter.off('message', listener);
      },
    };
  }
  say(message: string): void {
    this.#emitter.emit('message', message);
  }
}

function start(air: Air, policies: readonly Policy[] = [policy], by: ManualClock = clock) {
  const errors: string[] = [];
  const onMessageError = ({ error }: { error: Error }) => errors.push(error.message);
  const store = new LayeredStore({ mode: 'gossip', transport: air.transport(), onMessageError });
  const limiter = createLimiter({ name: 'api', policies, store, clock: by });
  const times = async (count: number) => {
    let admitted = 0;
    for (let i = 0; i < count; i++) if ((await limiter.consume('k')).allowed) admitted += 1;
    return admitted;
  };
  /** Lets the process know of its clock, by which it counts in what it hears. */
  const begin = () => limiter.peek('k');
  return { store, limiter, times, errors, begin };
}

async function pass(ms: number): Promise<void> {
  await jest.advanceTimersByTimeAsync(ms);
}
beforeEach(() => void jest.useFakeTimers({ doNotFake: ['Date'] }));
afterEach(() => void jest.useRealTimers());

test.each(['fixed-window', 'sliding-window-counter', 'sliding-window-log', 'token-bucket'] as const)(
  'processes know of each other after a while, %s',
  async (algorithm) => {
    const air = new Air();
    const processes = Array.from({ length: 3 }, () => start(air, [{ algorithm, limit: 20, window: '1d' }]));
    for (const { times } of processes) expect(await times(4)).toBe(4);
    await pass(100);
    for (const { limiter } of processes) expect((await limiter.peek('k')).remaining).toBe(8);
  },
);

test('what was admitted before the word of it came is debt', async () => {
  const air = new Air();
  const bucket: Policy = { algorithm: 'token-bucket', limit: 20, window: 20_000 };
  const processes = [start(air, [bucket]), start(air, [bucket])];
  for (const { times } of processes) expect(await times(30)).toBe(20);
  await pass(100);
  expect(processes.map(({ store }) => store.report())).toEqual([
    { peers: 1, stalenessMs: 100, overshoot: 20 },
    { peers: 1, stalenessMs: 100, overshoot: 20 },
  ]);
  clock.advance(20_000);
  for (const { times } of processes) expect(await times(1)).toBe(0);
  clock.advance(1000);
  for (const { times } of processes) expect(await times(1)).toBe(1);
});

test('a message that got lost is made up for by the next, and one that comes twice counts once', async () => {
  const air = new Air();
  const [one, other] = [start(air), start(air)];
  await one.times(1);
  await pass(1000);
  air.loses = true;
  await one.times(3);
  await pass(100);
  air.loses = false;
  await pass(100);
  expect((await other.limiter.peek('k')).remaining).toBe(16);
  air.twice = true;
  await one.times(3);
  await pass(1000);
  expect((await other.limiter.peek('k')).remaining).toBe(13);
  // Those that nobody asks for any more are not said for ever.
  const { length } = air.sent;
  await pass(10_000);
  expect(air.sent.length).toBe(length);
});

test('refunds, settlements and resets are told', async () => {
  const air = new Air();
  const [one, other] = [start(air), start(air)];
  await other.begin();
  await one.times(5);
  const decision = await one.limiter.consume('k');
  await pass(100);
  await one.limiter.refund(decision);
  await pass(100);
  expect((await other.limiter.peek('k')).remaining).toBe(15);
  await (await one.limiter.consume('k')).settle(4);
  await pass(100);
  expect((await other.limiter.peek('k')).remaining).toBe(11);
  await one.limiter.reset('k');
  await one.times(2);
  await pass(300);
  expect((await other.limiter.peek('k')).remaining).toBe(18);
});

test.each(['fixed-window', 'sliding-window-counter'] as const)(
  'what is given back of a window that is over admits nothing in the next, %s',
  async (algorithm) => {
    const air = new Air();
    const at = manualClock(500);
    const short: Policy = { algorithm, limit: 10, window: 1000 };
    const [one, other] = [start(air, [short], at), start(air, [short], at)];
    await other.begin();
    const decisions = [];
    for (let i = 0; i < 10; i++) decisions.push(await one.limiter.consume('k'));
    await pass(300);
    // Of a sliding window, the window after the next.
    at.set(2500);
    expect(await other.times(10)).toBe(10);
    for (const decision of decisions) await one.limiter.refund(decision);
    await pass(300);
    expect(await other.times(10)).toBe(0);
    expect(await one.times(10)).toBe(0);
  },
);

test('what is given back of the window before is missing from what slides out of it only', async () => {
  const air = new Air();
  const at = manualClock(500);
  const sliding: Policy = { algorithm: 'sliding-window-counter', limit: 10, window: 1000, buckets: 2 };
  const [one, other] = [start(air, [sliding], at), start(air, [sliding], at)];
  await other.begin();
  const decision = await one.limiter.consume('k', { cost: 6 });
  await pass(300);
  at.set(1000);
  expect(await other.times(10)).toBe(4);
  await one.limiter.refund(decision);
  await pass(300);
  expect(await other.times(10)).toBe(6);
  await pass(300);
  expect(await one.times(10)).toBe(0);
  // Nothing of the first half second is left, and so nothing slides out.
  at.set(1500);
  await pass(300);
  expect(await other.times(10)).toBe(0);
});

test('what is given back is told once: a message of it that gets lost leaves it used elsewhere', async () => {
  const air = new Air();
  const [one, other] = [start(air), start(air)];
  const decision = await one.limiter.consume('k', { cost: 5 });
  await pass(300);
  air.loses = true;
  await one.limiter.refund(decision);
  await pass(100);
  air.loses = false;
  await one.times(1);
  await pass(300);
  expect((await one.limiter.peek('k')).remaining).toBe(19);
  expect((await other.limiter.peek('k')).remaining).toBe(14);
});

test('as many keys are remembered where they are reset as where they are admitted', async () => {
  const air = new Air();
  const { limiter } = start(air);
  await limiter.consume('k');
  await pass(300);
  for (let i = 0; i < 100_000; i++) await limiter.reset(`key ${i}`);
  await pass(100);
  await limiter.consume('k');
  await pass(100);
  // It was the oldest, so its count begins again.
  expect(JSON.parse(air.sent.at(-1) as string).at(-1)).toEqual([['k', 1, 1]]);
});

test('a key that was forgotten here and elsewhere is counted on from where it stands', async () => {
  const air = new Air();
  const short: Policy = { algorithm: 'fixed-window', limit: 20, window: 1000 };
  const [one, other] = [start(air, [short]), start(air, [short])];
  await other.begin();
  await one.times(3);
  // Longer than the window and the minute that counts are kept, in which the process is heard of.
  for (let i = 0; i < 5; i++) {
    await one.limiter.consume('another');
    await pass(30_000);
  }
  await one.times(1);
  await pass(1000);
  expect(air.sent.at(-1)).toContain('["k",1,0]');
  expect((await other.limiter.peek('k')).remaining).toBe(16);
});

test('the last is said when a limiter is closed', async () => {
  const air = new Air();
  const [one, other] = [start(air), start(air)];
  await one.times(5);
  one.limiter.close();
  expect((await other.limiter.peek('k')).remaining).toBe(15);
});

test('a key that is long is said by its digest', async () => {
  const air = new Air();
  const [one, other] = [start(air), start(air)];
  const key = 'x'.repeat(1000);
  await one.limiter.consume(key);
  await pass(100);
  expect(air.sent[0].length).toBeLessThan(150);
  expect((await other.limiter.peek(key)).remaining).toBe(19);
});

test.each([
  ['[1,"api","p",0,0,[["k",5]]]', 'Expected a key and its counts'],
  ['[1,"api","p",0,0,[["k",5,"5"]]]', 'Expected a key and its counts'],
  ['[1,"api","p",0,0,["k",0.5,1]]', 'Expected a key and its counts'],
  ['[1,"api","p",0,0,[["k",5,5,1]]]', 'Expected a key and its counts'],
  ['[1,"api","p",0,0,[["k",5,5,-1,0]]]', 'Expected a key and its counts'],
  ['[1,"api","p",-1,0,[]]', 'Expected a process and its counts'],
  ['[1,"api","p",0,0,{}]', 'Expected a process and its counts'],
  ['[2,"api","p",0,0,[]]', 'Expected a message of version 1'],
])('%s is told of and ignored', async (message, expected) => {
  const air = new Air();
  const { limiter, errors } = start(air);
  air.say(message);
  expect(errors).toEqual([expect.stringContaining(expected)]);
  expect((await limiter.peek('k')).remaining).toBe(20);
});

test('messages of other modes and limiters say nothing to it', async () => {
  const air = new Air();
  const { limiter, errors } = start(air);
  await limiter.consume('k');
  air.say('[1,"api","k"]');
  air.say('[1,"other","p",0,0,[["k",5,5]]]');
  expect((await limiter.peek('k')).remaining).toBe(19);
  expect(errors).toEqual([]);
});
