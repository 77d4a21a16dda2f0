/**
 * The algorithms whose debt ages at a steady rate. Debts count in units of 1 / limit ms, so a unit of cost is one
 * window of them, and in a millisecond the debt falls by the limit. (The fraction is not even reduced.)
 *
 * A key keeps to one limit here: what a debt is worth under another is not a matter of definition.
 *
 * @module
 */

import { ceilDiv, type Entry, type Model, max, min, type View } from './model.js';

/** The debt, worked out anew from everything that ever happened to the key. */
export class TokenBucket implements Model {
  /** Charges and, negative, refunds. */
  protected readonly events: Entry[] = [];
  protected readonly window: bigint;
  readonly #burst: bigint | undefined;

  constructor(window: bigint, burst: number | undefined) {
    this.window = window;
    this.#burst = burst === undefined ? undefined : BigInt(burst);
  }

  capacity(limit: bigint): bigint {
    return limit === 0n ? 0n : (this.#burst ?? limit);
  }

  view(now: bigint, limit: bigint): View {
    const { debt, at: last } = this.replay(limit);
    const at = max(now, last);
    const most = this.capacity(limit) * this.window;
    return {
      at,
      fits: (wait, cost) => max(0n, debt - (at + wait - last) * limit) + cost * this.window <= most,
    };
  }

  charge(at: bigint, cost: bigint): Entry {
    const event = { at, cost };
    this.events.push(event);
    return event;
  }

  undo(): void {
    this.events.pop();
  }

  delay(_now: bigint, _limit: bigint): bigint {
    return 0n;
  }

  refund(now: bigint, _charge: Entry, units: bigint): void {
    if (this.events.length > 0) this.events.push({ at: now, cost: -units });
  }

  protected replay(limit: bigint): { debt: bigint; at: bigint } {
    let debt = 0n;
    let at = 0n;
    for (const event of this.events) {
      debt = max(0n, max(0n, debt - (event.at - at) * limit) + event.cost * this.window);
      at = event.at;
    }
    return { debt, at };
  }
}

/** A request waits for what was before it; its place can be given back while it is the last. */
export class LeakyBucket extends TokenBucket {
  override delay(now: bigint, limit: bigint): bigint {
    const { debt, at } = this.replay(limit);
    return limit === 0n ? 0n : ceilDiv(max(0n, debt - (max(now, at) - at) * limit), limit);
  }

  override refund(now: bigint, charge: Entry, units: bigint): void {
    const last = this.events.findLast((event) => event.cost > 0n);
    if (last === charge) super.refund(now, charge, units);
  }
}

/** The theoretical arrival time, as ITU-T I.371 has it: TAT = max(t, TAT) + cost T, with T = window / limit. */
export class Gcra implements Model {
  readonly #window: bigint;
  readonly #burst: bigint | undefined;
  #tat: bigint | undefined;
  #before: bigint | undefined;

  constructor(window: bigint, burst: number | undefined) {
    this.#window = window;
    this.#burst = burst === undefined ? undefined : BigInt(burst);
  }

  capacity(limit: bigint): bigint {
    return limit === 0n ? 0n : (this.#burst ?? limit);
  }

  view(now: bigint, limit: bigint): View {
    const most = this.capacity(limit) * this.#window;
    // Further ahead than the capacity it can only be if the clock stepped back.
    const tat = min(this.#tat ?? 0n, now * limit + most);
    return {
      at: now,
      fits: (wait, cost) => max(0n, tat - (now + wait) * limit) + cost * this.#window <= most,
    };
  }

  charge(at: bigint, cost: bigint, limit: bigint): Entry {
    const most = this.capacity(limit) * this.#window;
    const tat = min(this.#tat ?? 0n, at * limit + most);
    this.#before = this.#tat;
    this.#tat = max(tat, at * limit) + cost * this.#window;
    return { at, cost };
  }

  undo(): void {
    this.#tat = this.#before;
  }

  delay(): bigint {
    return 0n;
  }

  refund(_now: bigint, _charge: Entry, units: bigint): void {
    if (this.#tat !== undefined) this.#tat -= units * this.#window;
  }
}
