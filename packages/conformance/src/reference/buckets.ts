/**
 * The algorithms whose debt ages at a steady rate. A debt counts in units of 1 / limit ms, so a unit of cost is one
 * window of them under any limit, and in a millisecond the debt falls by the limit that it was last charged under.
 *
 * @module
 */

import { ceilDiv, type Entry, gcd, leastWait, MOST, type Model, max, min, type View } from './model.js';

/** A debt at an instant, and what it ages by. */
interface Debt {
  readonly debt: bigint;
  readonly at: bigint;
  readonly limit: bigint;
}

/** A charge or, negative, a refund. */
interface Event extends Entry {
  readonly limit: bigint;
}

/** What the debt is under a limit: limit and window are reduced, so the unit may be coarser; rounded up. */
function restated(debt: bigint, limit: bigint, window: bigint): bigint {
  const unit = gcd(limit, window);
  return ceilDiv(debt, unit) * unit;
}

/** The debt, worked out anew from everything that ever happened to the key. */
export class TokenBucket implements Model {
  protected readonly events: Event[] = [];
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
    const last = this.replay();
    const at = max(now, last.at);
    const most = this.capacity(limit) * this.window;
    return {
      at,
      fits: (wait, cost) => owed(last, at + wait) + cost * this.window <= most,
      isNew: (wait) => owed(last, at + wait) === 0n,
    };
  }

  charge(at: bigint, cost: bigint, limit: bigint): Entry {
    const event = { at, cost, limit };
    this.events.push(event);
    return event;
  }

  undo(): void {
    this.events.pop();
  }

  delay(_now: bigint, _cost: bigint, _limit: bigint): bigint {
    return 0n;
  }

  refund(now: bigint, _charge: Entry, units: bigint): void {
    const { limit } = this.replay();
    if (this.events.length > 0) this.events.push({ at: now, cost: -units, limit });
  }

  protected replay(): Debt {
    let last: Debt = { debt: 0n, at: 0n, limit: 0n };
    for (const { at, cost, limit } of this.events) {
      const before = restated(owed(last, at), limit, this.window);
      last = { debt: max(0n, before + cost * this.window), at, limit };
    }
    return last;
  }
}

function owed({ debt, at, limit }: Debt, t: bigint): bigint {
  return max(0n, debt - (t - at) * limit);
}

/** A request waits for what was before it; its place can be given back while it is the last. */
export class LeakyBucket extends TokenBucket {
  override delay(now: bigint, cost: bigint, limit: bigint): bigint {
    // What costs nothing changes nothing: what is before it leaks as it did.
    if (cost === 0n) return min(leastWait(this.view(now, limit).isNew), MOST);
    if (limit === 0n) return 0n;
    const last = this.replay();
    return ceilDiv(restated(owed(last, max(now, last.at)), limit, this.window), limit);
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
  /** In units of 1 / limit ms, with the limit and the capacity that it was written under. */
  #tat = 0n;
  #limit = 0n;
  #most = 0n;

  constructor(window: bigint, burst: number | undefined) {
    this.#window = window;
    this.#burst = burst === undefined ? undefined : BigInt(burst);
  }

  capacity(limit: bigint): bigint {
    return limit === 0n ? 0n : (this.#burst ?? limit);
  }

  view(now: bigint, limit: bigint): View {
    const most = this.capacity(limit) * this.#window;
    const debt = this.#debt(now);
    const owes = (wait: bigint) => max(0n, debt - wait * this.#limit);
    return {
      at: now,
      fits: (wait, cost) => owes(wait) + cost * this.#window <= most,
      isNew: (wait) => owes(wait) === 0n,
    };
  }

  charge(at: bigint, cost: bigint, limit: bigint): Entry {
    const debt = restated(this.#debt(at), limit, this.#window);
    this.#tat = at * limit + debt + cost * this.#window;
    this.#limit = limit;
    this.#most = this.capacity(limit) * this.#window;
    return { at, cost };
  }

  undo(): void {
    throw new Error('Nothing counts here that was denied.');
  }

  delay(): bigint {
    return 0n;
  }

  refund(now: bigint, _charge: Entry, units: bigint): void {
    this.#tat = now * this.#limit + max(0n, this.#debt(now) - units * this.#window);
  }

  /** Further ahead than the capacity the arrival time can only be if the clock stepped back. */
  #debt(now: bigint): bigint {
    return max(0n, min(this.#tat - now * this.#limit, this.#most));
  }
}
