/**
 * Corrections of what was charged, in what a ledger holds.
 *
 * @module
 */

import { NOTHING, RESET, WRITES } from '../algorithms/outcome.js';
import type { Charge, Plan, Term } from '../types.js';
import type { Ledger } from './ledger.js';

/** What came of adding units. */
interface Settled {
  /** Per term, how many units could not be kept. */
  readonly lacking: readonly number[];
  /** Whether there is anything to be stored. */
  readonly writes: boolean;
}

/**
 * Adds units, which are negative, to what was charged, also beyond the limits, and stores that, but for a new key
 * (slot 0): that is left to {@link Ledger.write}.
 */
export function settle(
  ledger: Ledger,
  slot: number,
  units: readonly number[],
  plan: Plan,
  charges: readonly Charge[],
  now: number,
): Settled {
  const row = ledger.rows.piece(slot);
  const base = ledger.rows.base(slot);
  let writes = false;
  const lacking = plan.places.map((place, i) => {
    const section = ledger.sections[place];
    const { numbers } = plan.terms[i];
    const time = Math.max(now, ledger.ahead.at(slot, place));
    const out = section.decide(numbers, row, base, time, 0);
    if (units[i] === 0) {
      out[WRITES] = NOTHING;
      return 0;
    }
    ledger.ahead.pass(slot, place, now);
    const short = section.settle(numbers, row, base, time, units[i], charges[i]);
    if (out[WRITES] !== NOTHING) writes = true;
    return short;
  });
  if (slot > 0) ledger.write(slot, plan, now);
  return { lacking, writes };
}

/** Gives units back; returns whether nothing is left of the key. */
export function refund(
  ledger: Ledger,
  slot: number,
  units: readonly number[],
  plan: Plan,
  charges: readonly Charge[],
  now: number,
): boolean {
  const row = ledger.rows.piece(slot);
  const base = ledger.rows.base(slot);
  let blank = plan.places.length === ledger.sections.length;
  plan.places.forEach((place, i) => {
    const section = ledger.sections[place];
    const { numbers } = plan.terms[i];
    if (units[i] === 0) {
      blank = false;
      return;
    }
    const ahead = ledger.ahead.at(slot, place);
    // Those behind were told their turns by what stood before them: of a bucket only the last place can be given back.
    if (ahead > now && charges[i].at !== ahead && isBucket(plan.terms[i])) {
      blank = false;
      return;
    }
    const time = Math.max(now, ahead);
    section.refund(numbers, row, base, time, units[i], charges[i]);
    const stands = time > now ? section.recede(numbers, row, base, time, now) : now;
    if (stands > now) ledger.ahead.set(slot, place, stands);
    else ledger.ahead.pass(slot, place, Infinity);
    if (section.decide(numbers, row, base, stands, 0)[RESET] === 0 && stands === now)
      section.clear(row, base);
    else blank = false;
  });
  return blank;
}

function isBucket({ algorithm }: Term): boolean {
  return algorithm === 'token-bucket' || algorithm === 'gcra';
}
