import { Deadline } from './deadline.js';

/** A promise that is settled from outside. */
function later<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/** What became of a promise so far. */
function watch(promise: Promise<unknown>) {
  const seen = { state: 'pending', value: undefined as unknown };
  promise.then(
    (value) => Object.assign(seen, { state: 'resolved', value }),
    (value) => Object.assign(seen, { state: 'rejected', value }),
  );
  return seen;
}

const LATE = new Error('late');
const deadline = () => new Deadline(100, () => LATE);

describe('A deadline', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());
  const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

  it('hands on what comes in time, values and errors', async () => {
    const [good, bad] = [later<string>(), later<string>()];
    const within = deadline();
    const seen = [within.race(good.promise), within.race(bad.promise)].map(watch);
    await pass(99);
    good.resolve('answer');
    bad.reject(new Error('refused'));
    await pass(1000);
    expect(seen).toEqual([
      { state: 'resolved', value: 'answer' },
      { state: 'rejected', value: new Error('refused') },
    ]);
  });

  it('rejects when the time is over, not before and at most 2 ms after', async () => {
    const seen = watch(deadline().race(later().promise));
    await pass(99);
    expect(seen.state).toBe('pending');
    await pass(3);
    expect(seen).toEqual({ state: 'rejected', value: LATE });
  });

  it('gives each call the time from its own beginning', async () => {
    const within = deadline();
    const seen = [watch(within.race(later().promise))];
    await pass(60);
    seen.push(watch(within.race(later().promise)));
    await pass(45);
    expect(seen.map(({ state }) => state)).toEqual(['rejected', 'pending']);
    await pass(50);
    expect(seen.map(({ state }) => state)).toEqual(['rejected', 'pending']);
    await pass(10);
    expect(seen.map(({ state }) => state)).toEqual(['rejected', 'rejected']);
  });

  it('finds what hangs behind, before and between calls that are answered', async () => {
    const within = deadline();
    const calls = Array.from({ length: 3000 }, () => later<number>());
    const seen = calls.map(({ promise }) => watch(within.race(promise)));
    calls.forEach(({ resolve }, i) => {
      if (i % 1000 !== 500) resolve(i);
    });
    await pass(99);
    expect(seen.filter(({ state }) => state === 'pending')).toHaveLength(3);
    await pass(3);
    expect(seen.filter(({ state }) => state === 'rejected')).toHaveLength(3);
    expect(seen.filter(({ value }, i) => value === i)).toHaveLength(2997);
  });

  it('drops what comes too late, errors too', async () => {
    const unhandled: unknown[] = [];
    const listen = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', listen);
    const [good, bad] = [later<string>(), later<string>()];
    const within = deadline();
    const seen = [within.race(good.promise), within.race(bad.promise)].map(watch);
    await pass(110);
    good.resolve('answer');
    bad.reject(new Error('refused'));
    jest.useRealTimers();
    await new Promise((resolve) => setTimeout(resolve, 5));
    process.off('unhandledRejection', listen);
    expect(seen.map(({ value }) => value)).toEqual([LATE, LATE]);
    expect(unhandled).toEqual([]);
  });

  it('has one timer for any number of calls, and none once nothing has been pending for as long', async () => {
    const within = deadline();
    const calls = Array.from({ length: 100 }, () => later<number>());
    for (const { promise } of calls) void within.race(promise);
    expect(jest.getTimerCount()).toBe(1);
    for (const { resolve } of calls) resolve(1);
    await pass(0);
    expect(jest.getTimerCount()).toBe(1);
    await pass(110);
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('A deadline on the real clock', () => {
  it.each([0, 3_600_000])('holds again when fake timers are gone that were %d ms ahead', async (ahead) => {
    const within = new Deadline(20, () => LATE);
    jest.useFakeTimers();
    const { promise, resolve } = later<string>();
    jest.advanceTimersByTime(ahead);
    const answer = within.race(promise);
    resolve('answer');
    expect(await answer).toBe('answer');
    jest.useRealTimers();
    await expect(within.race(later().promise)).rejects.toBe(LATE);
  });

  const busy = (ms: number) => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  };

  it('does not count against a call that was only sent when the process was free again', async () => {
    const { promise, resolve } = later<string>();
    const answer = new Deadline(20, () => LATE).race(promise);
    // As a client that writes in this turn of the loop, and a server whose answer is read in the next.
    setImmediate(() => setImmediate(() => resolve('answer')));
    busy(60);
    expect(await answer).toBe('answer');
  });

  it('ends a call that is not answered soon after the process was free again', async () => {
    const begunMs = performance.now();
    const answer = watch(new Deadline(20, () => LATE).race(later().promise));
    busy(60);
    while (answer.state === 'pending') await new Promise((resolve) => setTimeout(resolve, 1));
    expect(answer.value).toBe(LATE);
    expect(performance.now() - begunMs).toBeLessThan(60 + 500);
  });

  it('does not count against an answer that lay there while the process was busy', async () => {
    const { promise, resolve } = later<string>();
    const answer = new Deadline(20, () => LATE).race(promise);
    // A timer that is due after the deadline's, but before what the poll phase brings; and not so late that the process
    // is given more time.
    setTimeout(() => resolve('answer'), 21.5);
    busy(22.5);
    expect(await answer).toBe('answer');
  });
});
