/**
 * Which keys of a table are blocked, or on the way to it. Few are, and the others take no room for it.
 *
 * @module
 */

import { BEGAN, BLOCK_WIDTH, BY, blockFor, endOf, lastsUntil, rebase, strike } from '../algorithms/block.js';
import type { Plan } from '../types.js';
import { Rows } from './column.js';

export class Blocks {
  /** Per slot: the state of each policy's block, all zeros where nothing is known. */
  readonly #rows: Rows<Float64Array>;
  readonly #width: number;
  #size = 0;

  /** @param policies - how many. */
  constructor(policies: number) {
    this.#width = policies * BLOCK_WIDTH;
    this.#rows = new Rows(this.#width, (length) => new Float64Array(length));
  }

  /** How many slots it knows something of. */
  get size(): number {
    return this.#size;
  }

  /** Whether it knows something of a slot. */
  has(slot: number): boolean {
    if (!this.#rows.has(slot)) return false;
    const row = this.#rows.piece(slot);
    const begin = this.#rows.base(slot);
    for (let i = begin; i < begin + this.#width; i++) if (row[i] !== 0) return true;
    return false;
  }

  /** Whether anything of a slot means something still. */
  holds(slot: number, now: number): boolean {
    if (!this.#rows.has(slot)) return false;
    const row = this.#rows.piece(slot);
    const begin = this.#rows.base(slot);
    for (let base = begin; base < begin + this.#width; base += BLOCK_WIDTH) {
      if (lastsUntil(row, base) > now) return true;
    }
    return false;
  }

  /** Whether a slot is blocked in one of the policies of the plan. */
  isBlocked(slot: number, plan: Plan, now: number): boolean {
    if (!this.#rows.has(slot)) return false;
    for (const place of plan.places) if (this.endOf(slot, place, now) > now) return true;
    return false;
  }

  /** When the block in a policy ends: an instant that is over if there is none. */
  endOf(slot: number, place: number, now: number): number {
    return this.#rows.has(slot) ? endOf(this.#rows.piece(slot), this.#base(slot, place), now) : 0;
  }

  /** By whom a slot that is blocked in a policy is. */
  by(slot: number, place: number): number {
    return this.#rows.piece(slot)[this.#base(slot, place) + BY];
  }

  /** When the block of a slot that is blocked in a policy began. */
  began(slot: number, place: number): number {
    return this.#rows.piece(slot)[this.#base(slot, place) + BEGAN];
  }

  /** Has blocks begin now if the clock has stepped back before they began. */
  rebase(slot: number, plan: Plan, now: number): void {
    if (!this.#rows.has(slot)) return;
    for (const place of plan.places) rebase(this.#rows.piece(slot), this.#base(slot, place), now);
  }

  /** Counts a strike against a policy. */
  strike(slot: number, place: number, numbers: readonly number[], now: number): void {
    this.#begin(slot);
    strike(numbers, this.#rows.piece(slot), this.#base(slot, place), now);
  }

  /** Blocks a slot in all policies. */
  block(slot: number, now: number, durationMs: number): void {
    this.#begin(slot);
    const row = this.#rows.piece(slot);
    const begin = this.#rows.base(slot);
    for (let base = begin; base < begin + this.#width; base += BLOCK_WIDTH) {
      blockFor(row, base, now, durationMs);
    }
  }

  /** Forgets what means nothing any more of a policy. */
  tidy(slot: number, place: number, now: number): void {
    if (!this.has(slot)) return;
    const row = this.#rows.piece(slot);
    const base = this.#base(slot, place);
    if (lastsUntil(row, base) > now) return;
    row.fill(0, base, base + BLOCK_WIDTH);
    if (!this.has(slot)) this.#size -= 1;
  }

  /** Forgets a slot. */
  delete(slot: number): void {
    if (!this.has(slot)) return;
    const base = this.#rows.base(slot);
    this.#rows.piece(slot).fill(0, base, base + this.#width);
    this.#size -= 1;
  }

  #begin(slot: number): void {
    this.#rows.reach(slot);
    if (!this.has(slot)) this.#size += 1;
  }

  #base(slot: number, place: number): number {
    return this.#rows.base(slot) + place * BLOCK_WIDTH;
  }
}
