/**
 * The algorithms that count what was admitted in a stretch of time.
 *
 * @module
 */

import type { Policy } from '@sluice/core';
import { type Entry, MOST, type Model, max, min, sum, takeBack, type View } from './model.js';

/** The entries of one window number k = floor(t / W) count, and no others. */
export class FixedWindow implements Model {
  readonly #entries: Entry[] = [];
  readonly #window: bigint;

  constructor(window: bigint) {
    this.#window = window;
  }

  capacity(limit: bigint): bigint {
    return limit;
  }

  view(now: bigint, limit: bigint): View {
    const newest = this.#entries.at(-1);
    const at = newest === undefined ? now : max(now, (newest.at / this.#window) * this.#window);
    return {
      at,
      fits: (wait, cost) => this.#used(at + wait) + cost <= limit,
      isNew: (wait) => this.#used(at + wait) === 0n,
    };
  }

  charge(at: bigint, cost: bigint): Entry {
    const entry = { at, cost: min(cost, MOST - this.#used(at)) };
    this.#entries.push(entry);
    return entry;
  }

  undo(): void {
    this.#entries.pop();
  }

  delay(): bigint {
    return 0n;
  }

  refund(_now: bigint, { at }: Entry, units: bigint): void {
    takeBack(this.#entries, units, (entry) => entry.at / this.#window === at / this.#window);
  }

  #used(t: bigint): bigint {
    return sum(this.#entries, (entry) => entry.at / this.#window === t / this.#window);
  }
}

/** The entries with instant in (t - W, t] count. */
export class Log implements Model {
  readonly #entries: Entry[] = [];
  readonly #window: bigint;

  constructor(window: bigint) {
    this.#window = window;
  }

  capacity(limit: bigint): bigint {
    return limit;
  }

  view(now: bigint, limit: bigint): View {
    const at = max(now, this.#entries.at(-1)?.at ?? 0n);
    const used = (t: bigint) => sum(this.#entries, (entry) => t - this.#window < entry.at && entry.at <= t);
    return {
      at,
      fits: (wait, cost) => used(at + wait) + cost <= limit,
      isNew: (wait) => used(at + wait) === 0n,
    };
  }

  charge(at: bigint, cost: bigint): Entry {
    const entry = { at, cost };
    this.#entries.push(entry);
    return entry;
  }

  undo(): void {
    this.#entries.pop();
  }

  delay(): bigint {
    return 0n;
  }

  refund(_now: bigint, { at }: Entry, units: bigint): void {
    takeBack(this.#entries, units, (entry) => entry.at === at);
  }
}

/** The counts of the last B buckets, and what the edge counts of the bucket before them. */
export class Counter implements Model {
  readonly #entries: Entry[] = [];
  readonly #bucket: bigint;
  readonly #buckets: bigint;
  readonly #edge: string;
  readonly #down: boolean;

  constructor(window: bigint, policy: Policy & { algorithm?: 'sliding-window-counter' | undefined }) {
    this.#buckets = BigInt(policy.buckets ?? 1);
    this.#bucket = window / this.#buckets;
    this.#edge = policy.edge ?? 'weighted';
    this.#down = policy.rounding === 'down';
  }

  capacity(limit: bigint): bigint {
    return limit;
  }

  view(now: bigint, limit: bigint): View {
    const newest = this.#entries.at(-1);
    const at = newest === undefined ? now : max(now, (newest.at / this.#bucket) * this.#bucket);
    return {
      at,
      fits: (wait, cost) => this.#fits(at + wait, cost, limit),
      isNew: (wait) => this.#fits(at + wait, 0n, 0n),
    };
  }

  #fits(t: bigint, cost: bigint, limit: bigint): boolean {
    const b = this.#bucket;
    const e = t % b;
    const full = this.#full(t);
    const old = this.#count(t / b - this.#buckets);
    if (this.#edge === 'drop') return full + cost <= limit;
    if (this.#edge === 'keep') return old + full + cost <= limit;
    if (this.#down) return (old * (b - e)) / b + full + cost <= limit;
    return old * (b - e) + (full + cost) * b <= limit * b;
  }

  charge(at: bigint, cost: bigint): Entry {
    const entry = { at, cost: min(cost, MOST - this.#full(at)) };
    this.#entries.push(entry);
    return entry;
  }

  undo(): void {
    this.#entries.pop();
  }

  delay(): bigint {
    return 0n;
  }

  refund(_now: bigint, { at }: Entry, units: bigint): void {
    takeBack(this.#entries, units, (entry) => entry.at / this.#bucket === at / this.#bucket);
  }

  #count(s: bigint): bigint {
    return sum(this.#entries, (entry) => entry.at / this.#bucket === s);
  }

  #full(t: bigint): bigint {
    const s = t / this.#bucket;
    let full = 0n;
    for (let i = 0n; i < this.#buckets; i++) full += this.#count(s - i);
    return full;
  }
}
