/**
 * Blocks: a key that keeps being denied, or that somebody blocks by hand, is denied for a time, whatever it asks for.
 *
 * numbers: window, after (strikes that begin a block), first (ms of the first block), grow (each next one by that many
 * thousandths of the one before), most (ms). state: ends, began, by, strikes, forgets (when the strikes are forgotten),
 * last (ms of the last block that strikes began), fades (when that is forgotten). All zeros of a key without any.
 *
 * @module
 */

import type { ParsedPolicy } from '../types.js';
import { MOST } from './exact.js';
import type { Row } from './outcome.js';

const ENDS = 0;
export const BEGAN = 1;
export const BY = 2;
const STRIKES = 3;
const FORGETS = 4;
const LAST = 5;
const FADES = 6;

/** How many numbers of state a key has. */
export const BLOCK_WIDTH = 7;

/** Strikes began the block. */
export const BY_POLICY = 1;
/** Somebody did. */
const BY_HAND = 2;

/** The policy's block as numbers, if it has one. The Lua sibling takes the same. */
export function blockNumbersOf({ block, windowMs }: ParsedPolicy): readonly number[] | undefined {
  return block && [windowMs, block.after, block.forMs, Math.round(block.grow * 1000), block.maxMs];
}

/**
 * When the block ends; an instant that is over if there is none. Behind a clock that has stepped back before it began, it
 * takes its own length again and no more.
 */
export function endOf(state: Row, base: number, now: number): number {
  const ends = state[base + ENDS];
  const began = state[base + BEGAN];
  if (began > now && ends !== MOST) return now + (ends - began);
  return ends;
}

/** Has a block begin now if the clock has stepped back before it began. */
export function rebase(state: Row, base: number, now: number): void {
  const back = state[base + BEGAN] - now;
  if (back <= 0) return;
  state[base + ENDS] = endOf(state, base, now);
  state[base + BEGAN] = now;
  if (state[base + FADES] > 0) state[base + FADES] -= back;
}

/** Counts a strike, which may begin a block. */
export function strike(numbers: readonly number[], state: Row, base: number, now: number): void {
  const [window, after, first, grow, most] = numbers;
  const strikes = now < state[base + FORGETS] ? state[base + STRIKES] + 1 : 1;
  if (strikes < after) {
    state[base + STRIKES] = strikes;
    state[base + FORGETS] = now + window;
    return;
  }
  const last = now < state[base + FADES] ? state[base + LAST] : 0;
  const length = Math.min(most, Math.max(first, grown(last, grow)));
  state[base + ENDS] = now + length;
  state[base + BEGAN] = now;
  state[base + BY] = BY_POLICY;
  state[base + STRIKES] = 0;
  state[base + FORGETS] = 0;
  state[base + LAST] = length;
  state[base + FADES] = now + length + Math.max(length, window);
}

/** Blocks by hand for so many ms, 2^53 - 1 for as long as nobody ends it. A block that ends later goes on. */
export function blockFor(state: Row, base: number, now: number, duration: number): void {
  rebase(state, base, now);
  const ends = duration === MOST ? MOST : now + duration;
  if (ends <= state[base + ENDS]) return;
  state[base + ENDS] = ends;
  state[base + BEGAN] = now;
  state[base + BY] = BY_HAND;
  state[base + STRIKES] = 0;
  state[base + FORGETS] = 0;
}

/** The instant from which on none of it means anything. */
export function lastsUntil(state: Row, base: number): number {
  return Math.max(state[base + ENDS], state[base + FORGETS], state[base + FADES]);
}

/** So many thousandths of `ms`, rounded up. Where the product is above 2^53, it is above all that it is compared with, too. */
function grown(ms: number, thousandths: number): number {
  const rest = ms % 1000;
  return ((ms - rest) / 1000) * thousandths + Math.ceil((rest * thousandths) / 1000);
}
