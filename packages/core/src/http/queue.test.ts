import { EventEmitter } from 'node:events';
import type { RawResponse } from './index.js';
import { type Held, Queue } from './queue.js';

/** A response as far as a queue is concerned. */
class Ending extends EventEmitter {
  destroyed = false;

  end(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

const open = () => {
  const response = new Ending();
  return { response: response as unknown as RawResponse, leave: () => response.end() };
};

/** Notes how holding ends. */
function watch(held: Promise<Held> | undefined): (Held | 'full')[] {
  const seen: (Held | 'full')[] = [];
  if (held === undefined) seen.push('full');
  else held.then((how) => seen.push(how));
  return seen;
}

const DAY = 86_400_000;

describe('a queue', () => {
  beforeEach(() => jest.useFakeTimers());
  afterEach(() => jest.useRealTimers());

  it('holds a request for as long as its turn takes, however long that is', async () => {
    for (const ms of [1, 40, 100 * DAY]) {
      const seen = watch(new Queue(undefined).hold(open().response, ms));
      await jest.advanceTimersByTimeAsync(ms - 1);
      expect(seen).toEqual([]);
      await jest.advanceTimersByTimeAsync(1);
      expect(seen).toEqual(['turn']);
      expect(jest.getTimerCount()).toBe(0);
    }
  });

  it('forgets a request at once when its client leaves, and keeps no timer', async () => {
    const { response, leave } = open();
    const seen = watch(new Queue(undefined).hold(response, 100 * DAY));
    expect(jest.getTimerCount()).toBe(1);
    await jest.advanceTimersByTimeAsync(50 * DAY);
    leave();
    expect(jest.getTimerCount()).toBe(0);
    await jest.advanceTimersByTimeAsync(100 * DAY);
    expect(seen).toEqual(['gone']);
  });

  it('does not hold a request whose client has left already', async () => {
    const { response, leave } = open();
    leave();
    const seen = watch(new Queue(undefined).hold(response, DAY));
    await Promise.resolve();
    expect([seen, jest.getTimerCount()]).toEqual([['gone'], 0]);
  });

  it('holds to the end a request of which nobody says when its client leaves', async () => {
    const seen = watch(new Queue(undefined).hold(undefined, 40));
    await jest.advanceTimersByTimeAsync(40);
    expect(seen).toEqual(['turn']);
  });

  it('holds so many at once, by default a thousand, and has room again when one is done', async () => {
    for (const [maxHeld, most] of [
      [undefined, 1000],
      [3, 3],
      [0, 0],
    ] as const) {
      const queue = new Queue(maxHeld);
      const clients = Array.from({ length: most }, open);
      for (const [i, { response }] of clients.entries()) expect(queue.hold(response, 100 + i)).toBeDefined();
      expect(queue.hold(open().response, 1)).toBeUndefined();
      if (most === 0) continue;
      // One leaves, and of the others one has its turn.
      clients[1].leave();
      expect(queue.hold(open().response, DAY)).toBeDefined();
      expect(queue.hold(open().response, DAY)).toBeUndefined();
      jest.advanceTimersByTime(100);
      expect(queue.hold(open().response, DAY)).toBeDefined();
      expect(queue.hold(open().response, DAY)).toBeUndefined();
      jest.clearAllTimers();
    }
  });

  it('may have no end', () => {
    const queue = new Queue(Infinity);
    for (let i = 0; i < 2000; i++) expect(queue.hold(open().response, DAY)).toBeDefined();
  });

  it.each([-1, 1.5, '10', null, Number.NaN])('is refused for a maxHeld of %p', (maxHeld) => {
    expect(() => new Queue(maxHeld)).toThrow(/^Expected `maxHeld` to be an integer >= 0 or Infinity, got /);
  });

  it('is made before fake timers are, or after', async () => {
    jest.useRealTimers();
    const queue = new Queue(undefined);
    jest.useFakeTimers();
    const seen = watch(queue.hold(open().response, DAY));
    await jest.advanceTimersByTimeAsync(DAY);
    expect(seen).toEqual(['turn']);
  });
});
