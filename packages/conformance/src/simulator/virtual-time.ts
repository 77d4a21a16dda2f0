/**
 * Time that passes only when told, for all that runs in this process: much faster than fake timers that give the event loop
 * its turns.
 *
 * @module
 */

/** So many turns of the microtask queue settle whatever one event sets off here. */
const TURNS = 40;

interface Timer {
  readonly at: number;
  readonly order: number;
  readonly work: () => void;
}

export class VirtualTime {
  #now: number;
  readonly #began: number;
  readonly #timers: Timer[] = [];
  #orders = 0;
  readonly #restore: readonly (() => void)[];

  /** Stands in for the clocks and timers of this process until `stop` is called. */
  constructor(now: number) {
    this.#now = now;
    this.#began = now;
    this.#restore = [
      replace(Date, 'now', () => this.#now),
      replace(performance, 'now', () => this.#now - this.#began),
      replace(globalThis, 'setTimeout', (work: () => void, ms = 0) => this.#set(work, ms)),
      replace(globalThis, 'clearTimeout', (timer: unknown) => this.#clear(timer)),
    ];
  }

  get now(): number {
    return this.#now;
  }

  /** Lets so much time pass, with all that is due in it, in order. */
  async pass(ms: number): Promise<void> {
    const until = this.#now + ms;
    await settle();
    for (;;) {
      const next = this.#timers.reduce<Timer | undefined>(earlier, undefined);
      if (next === undefined || next.at > until) break;
      this.#timers.splice(this.#timers.indexOf(next), 1);
      this.#now = Math.max(this.#now, next.at);
      next.work();
      await settle();
    }
    this.#now = until;
  }

  stop(): void {
    for (const restore of this.#restore) restore();
  }

  #set(work: () => void, ms: number): unknown {
    const timer: Timer = { at: this.#now + Math.max(0, ms), order: this.#orders++, work };
    this.#timers.push(timer);
    return Object.assign(timer, { unref: () => timer });
  }

  #clear(timer: unknown): void {
    const i = this.#timers.indexOf(timer as Timer);
    if (i >= 0) this.#timers.splice(i, 1);
  }
}

/** Puts another function in the place of one; returns what puts it back. */
function replace(of: object, name: string, work: (...args: never[]) => unknown): () => void {
  const own = Object.getOwnPropertyDescriptor(of, name);
  Object.defineProperty(of, name, { value: work, configurable: true, writable: true });
  return () => {
    // What was inherited is again.
    delete (of as Record<string, unknown>)[name];
    if (own !== undefined) Object.defineProperty(of, name, own);
  };
}

function earlier(best: Timer | undefined, timer: Timer): Timer {
  if (best === undefined || timer.at < best.at) return timer;
  return timer.at === best.at && timer.order < best.order ? timer : best;
}

async function settle(): Promise<void> {
  for (let i = 0; i < TURNS; i++) await null;
}
