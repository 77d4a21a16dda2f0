/**
 * The time that a store has to answer.
 *
 * @module
 */

/** A timer that fires so much too late says that the process was busy. */
const BUSY_MS = 10;

/** What a process that was busy has then: some clients write what they are given only when it is free again. */
const GRACE_MS = 15;

/** One call that has not been answered yet, or was a moment ago. */
interface Wait {
  readonly dueMs: number;
  readonly giveUp: () => void;
  over: boolean;
}

/**
 * Rejects what takes longer than the same time for all. So they come due in the order in which they began, and one
 * timer serves them all: a timer per call was dearer than the rest of the call. It never keeps a process alive for
 * longer than a call is pending.
 */
export class Deadline {
  readonly #ms: number;
  readonly #late: () => Error;
  #waits: Wait[] = [];
  /** Where the first of {@link #waits} is that counts. */
  #head = 0;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer is to fire. */
  #firesMs = 0;

  /** @param late - makes the error of a call that is given up. */
  constructor(ms: number, late: () => Error) {
    this.#ms = ms;
    this.#late = late;
  }

  /** Returns what `work` comes to, or rejects when the time is over. What comes later is dropped. */
  race<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const wait: Wait = {
        dueMs: performance.now() + this.#ms,
        giveUp: () => reject(this.#late()),
        over: false,
      };
      this.#add(wait);
      const settle = <V>(how: (value: V) => void, value: V) => {
        wait.over = true;
        this.#tidy();
        how(value);
      };
      work.then(
        (value) => settle(resolve, value),
        (error) => settle(reject, error),
      );
    });
  }

  #add(wait: Wait): void {
    this.#waits.push(wait);
    const isFirst = this.#waits.length - this.#head === 1;
    if (this.#timer === undefined || (isFirst && this.#isLost(wait.dueMs - this.#ms))) this.#arm(this.#ms);
    else if (isFirst) this.#timer.ref();
  }

  /** Whether the timer can be none of this clock: fake timers that are gone leave theirs, and it never fires. */
  #isLost(nowMs: number): boolean {
    return this.#firesMs < nowMs || this.#firesMs > nowMs + this.#ms + 2;
  }

  /** Forgets those at the head that are over. Most are over in the order in which they began. */
  #tidy(): void {
    const waits = this.#waits;
    while (this.#head < waits.length && waits[this.#head].over) this.#head += 1;
    if (this.#head === waits.length) {
      this.#waits = [];
      this.#head = 0;
      this.#timer?.unref();
    } else if (this.#head > 1000 && 2 * this.#head > waits.length) {
      this.#waits = waits.slice(this.#head);
      this.#head = 0;
    }
  }

  #arm(ms: number): void {
    // Timers fire up to a millisecond early.
    const wholeMs = Math.ceil(ms) + 1;
    this.#firesMs = performance.now() + wholeMs;
    const timer = setTimeout(() => {
      if (timer === this.#timer) this.#fire();
    }, wholeMs);
    this.#timer = timer;
  }

  /** What has arrived while the process was busy is read before the immediate: it was not late. */
  #fire(): void {
    this.#timer = undefined;
    const nowMs = performance.now();
    if (nowMs - this.#firesMs < BUSY_MS) setImmediate(() => this.#giveUp(nowMs));
    else setTimeout(() => setImmediate(() => this.#giveUp(nowMs)), GRACE_MS);
    let next = this.#head;
    while (next < this.#waits.length && this.#waits[next].dueMs <= nowMs) next += 1;
    if (next < this.#waits.length) this.#arm(this.#waits[next].dueMs - nowMs);
  }

  #giveUp(nowMs: number): void {
    for (const wait of this.#waits.slice(this.#head)) {
      if (wait.dueMs > nowMs) break;
      if (wait.over) continue;
      wait.over = true;
      wait.giveUp();
    }
    this.#tidy();
  }
}
