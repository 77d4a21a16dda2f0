/**
 * Requests of keys that are blocked, and of those that are on the way to it.
 *
 * @module
 */

import { MOST } from '../algorithms/exact.js';
import { AT, DELAY, NEVER, NOTHING, REMAINING, RESET, RETRY, WRITES } from '../algorithms/outcome.js';
import type { Plan, Term } from '../types.js';
import type { Blocks } from './blocks.js';
import type { Ledger } from './ledger.js';

/**
 * Tells a request of a blocked key what it would be told when that is over, and stores nothing. Returns whether it would
 * fit but for the block of another key.
 *
 * @param blocks - absent where none of this key is known.
 */
export function judgeBlocked(
  ledger: Ledger,
  blocks: Blocks | undefined,
  slot: number,
  cost: number,
  plan: Plan,
  now: number,
): boolean {
  let fits = true;
  for (let i = 0; i < plan.places.length; i++) {
    tell(ledger, blocks, slot, cost, plan, i, now);
    if (ledger.sections[plan.places[i]].out[RETRY] !== 0) fits = false;
  }
  return fits;
}

/**
 * Takes note of a request that was judged right before, and charged where it fits: of strikes, and of what means nothing
 * any more. One that begins a block is told so.
 */
export function strikeBy(
  ledger: Ledger,
  blocks: Blocks,
  slot: number,
  cost: number,
  plan: Plan,
  now: number,
): void {
  for (let i = 0; i < plan.places.length; i++) {
    const place = plan.places[i];
    const { block } = plan.terms[i];
    const { out } = ledger.sections[place];
    const strikes = block !== undefined && out[RETRY] > 0;
    if (strikes) blocks.strike(slot, place, block, now);
    else if (out[WRITES] !== NOTHING) blocks.tidy(slot, place, now);
    if (strikes && blocks.endOf(slot, place, now) > now) tell(ledger, blocks, slot, cost, plan, i, now);
  }
}

/** What one policy says of a request that is charged to nobody, at the end of its block if it has one. */
function tell(
  ledger: Ledger,
  blocks: Blocks | undefined,
  slot: number,
  cost: number,
  plan: Plan,
  i: number,
  now: number,
): void {
  const place = plan.places[i];
  const section = ledger.sections[place];
  const row = ledger.rows.piece(slot);
  const base = ledger.rows.base(slot);
  const numbers = uncounted(plan.terms[i]);
  const { out } = section;
  const end = blocks === undefined ? now : Math.max(now, blocks.endOf(slot, place, now));
  const then = end === MOST ? now : end;
  const retry = section.decide(numbers, row, base, then, cost)[RETRY];
  section.decide(numbers, row, base, then, 0);
  out[RETRY] = retry;
  out[DELAY] = 0;
  if (end === now || blocks === undefined) return;
  out[REMAINING] = -blocks.by(slot, place);
  out[RETRY] = end === MOST || retry === NEVER ? NEVER : Math.min(end - now + retry, MOST);
  out[RESET] = end === MOST ? NEVER : Math.min(end - now + out[RESET], MOST);
  out[AT] = Math.max(now, blocks.began(slot, place));
  out[DELAY] = end - now;
}

/** The numbers of a term that counts no denied request: those of a key that is blocked do not count. */
function uncounted({ algorithm, numbers }: Term): readonly number[] {
  const counts = algorithm === 'fixed-window' || algorithm === 'sliding-window-counter';
  // The last number is countDenied.
  return counts && numbers[numbers.length - 1] !== 0 ? [...numbers.slice(0, -1), 0] : numbers;
}
