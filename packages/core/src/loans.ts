/**
 * What a request that was decided without the store owes it, and how that is corrected once the store has booked it.
 *
 * @module
 */

import { sparedOf } from './decision.js';
import { ANSWER_WIDTH, type Answer, type Charge, type Plan, type Table } from './types.js';

/** What the store has booked of a debt under one policy. */
interface Booking extends Charge {
  /** The units it took and has not given back: it takes no more than what remains. */
  taken: number;
  level: number;
}

/** What a key has come to owe until it is sent to the store. */
export interface Debtor {
  /** Its place in the table: another debt of the key may arise while this one is on its way. */
  readonly row: string;
  /** Under the policies that it was made under. */
  readonly table: Table<false>;
  /** The widest of the plans that its requests were judged by: by another, a part of what they took would not be seen. */
  plan: Plan;
  /** Another debt of the same key: one that arose while this was on its way, or under the policies before an update. */
  next: Debtor | undefined;
  /** While it is on its way: settled when it is known what became of it. */
  sent: Promise<void> | undefined;
  /** Whether it has been sent in vain. */
  refused: boolean;
  /** Where the store has booked it, per term of the plan. */
  booked: readonly Booking[] | undefined;
  /** Whether nothing is owed any more. */
  gone: boolean;
}

/** One request's part of a debt, by which it can be corrected. */
export interface Loan {
  readonly id: string;
  readonly plan: Plan;
  debtor: Debtor;
  charges: readonly Charge[];
  /** The units of it that the debtor owes, per term. */
  units: readonly number[];
  /** And those that were added to it and could not be kept. */
  lacking: readonly number[];
}

/** A correction of what the store has booked, per term of the loan's plan. */
export interface BookedCorrection {
  /** To give back, or, negative, to add. */
  readonly units: readonly number[];
  readonly charges: readonly Charge[];
  /** What need not be given back, as it was lacking. */
  readonly spared: readonly number[];
}

/**
 * Returns how a loan is to be corrected that the store has booked, and notes it; `undefined` if it has not. No policy
 * gives back more than it took.
 */
export function correctionOf(loan: Loan, units: number): BookedCorrection | undefined {
  if (loan.debtor.booked === undefined) return undefined;
  const bookings = bookingsOf(loan);
  const spared = sparedOf(loan.lacking, units);
  const most = bookings.map(({ taken }) => Math.max(0, taken));
  const each = most.map((taken, i) => Math.min(units - spared[i], taken));
  const charges = bookings.map(({ at, level }) => ({ at, level }));
  takeOff(loan, each, negated(spared));
  return { units: each, charges, spared };
}

/** Notes that a correction was not made. */
export function undo(loan: Loan, { units, spared }: BookedCorrection): void {
  takeOff(loan, negated(units), spared);
}

/** Notes that the store could not keep so many of the units that were added to a loan. */
export function lack(loan: Loan, less: ArrayLike<number>): void {
  takeOff(loan, Array.from(less), Array.from(less));
}

function takeOff(loan: Loan, units: readonly number[], lacking: readonly number[]): void {
  loan.lacking = loan.lacking.map((count, i) => count + lacking[i]);
  bookingsOf(loan).forEach((booking, i) => {
    booking.taken -= units[i];
    booking.level -= units[i];
  });
}

const negated = (numbers: readonly number[]) => numbers.map((number) => 0 - number);

function bookingsOf({ debtor: { booked = [], plan: sent }, plan }: Loan): Booking[] {
  return plan.places.map((place) => booked[sent.places.indexOf(place)]);
}

/** The charges of which an answer tells, per term of the plan. */
export function chargesBy(plan: Plan, answer: Answer): Charge[] {
  return plan.terms.map((term, i) => ({
    at: answer[i * ANSWER_WIDTH + 3],
    level: term.numbers[0] - answer[i * ANSWER_WIDTH],
  }));
}
