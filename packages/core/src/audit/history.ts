/**
 * What is known of one key under one policy.
 *
 * @module
 */

import type { ParsedPolicy } from '../types.js';
import { WindowLog } from './window-log.js';

/** How many windows of units the log of what was admitted keeps: no policy admits more than two in one. */
const BURSTS = 4;

/** The past of one key, as the limiter had it and as it would have been. */
export class History {
  /** What the exact log admitted. */
  readonly exact: WindowLog;
  /** What the limiter admitted. */
  readonly admitted: WindowLog;
  /** What came. */
  readonly arrived: WindowLog;
  /** The state of the policy if all that came had been counted. */
  readonly counted: Float64Array;
  /** The state of the policy if nothing but what was observed changed it. */
  readonly live: Float64Array;
  /** The largest limit that a request was judged by: no log needs to know more units. */
  #most: number;

  /** @param width - how many numbers the state of the policy has. */
  constructor({ limit, windowMs }: ParsedPolicy, width: number) {
    this.exact = new WindowLog(windowMs);
    this.admitted = new WindowLog(windowMs);
    this.arrived = new WindowLog(windowMs);
    this.counted = new Float64Array(width);
    this.live = new Float64Array(width);
    this.#most = limit === Infinity ? 0 : limit;
  }

  /** How many numbers it holds. */
  get size(): number {
    const entries = this.exact.length + this.admitted.length + this.arrived.length;
    return 2 * entries + this.counted.length + this.live.length;
  }

  /** Notes that a request is judged by `limit`. */
  judgedBy(limit: number): void {
    if (limit > this.#most) this.#most = limit;
  }

  /** A request came. One that costs more than its limit counts nowhere, whoever counts. */
  arrive(cost: number, now: number): void {
    this.arrived.add(cost, now, this.#most);
  }

  /** The exact log admitted a request. */
  admitExactly(cost: number, now: number): void {
    this.exact.add(cost, now, this.#most);
  }

  /** The limiter admitted a request; returns how many units that makes in the window that ends with it. */
  admit(cost: number, now: number): number {
    this.admitted.add(cost, now, BURSTS * this.#most);
    return this.admitted.total(now);
  }
}
