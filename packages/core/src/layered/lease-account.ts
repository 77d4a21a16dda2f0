/**
 * What a process knows of one key, and holds of it in advance.
 *
 * @module
 */

import { AT, REMAINING, RESET, RETRY } from '../algorithms/outcome.js';
import { ANSWER_WIDTH, type Answer, type Plan } from '../types.js';
import { Holding } from './holding.js';
import type { LeasePlan } from './lease-terms.js';

/** Of a charge. */
const TAKEN = 4;

/** Of what is left of a policy that hardly anything comes back to, a process takes a quarter at most. */
const MOST_OF_SLOW = 0.25;

export class LeaseAccount {
  readonly id: string;
  /** The limiter's plan, and how the store judges by it. */
  readonly plan: Plan;
  readonly lease: LeasePlan;
  /** The caller's clock at the last request, if it has one. */
  now: number | undefined;
  /** When it was asked for last, by the clock of this process. */
  usedMs = 0;
  /** The one question that is on its way: settled when it is answered. */
  asking: Promise<unknown> | undefined;
  /** Why it holds nothing any more, once it does not. */
  end: 'reset' | 'update' | undefined;
  /** When units were asked for last that were not there. */
  scarceMs: number = -Infinity;
  /** Until then what was asked for is not asked for again: the end of the window in which it was charged. */
  askedUntilMs: number = -Infinity;
  readonly lifeMs: number;
  readonly leastCapacity: number;
  readonly #horizonMs: number;
  readonly #holdings: readonly Holding[];
  #sinceMs = -Infinity;
  #before = 0;
  #since = 0;

  constructor(id: string, plan: Plan, lease: LeasePlan, horizonMs: number) {
    this.id = id;
    this.plan = plan;
    this.lease = lease;
    this.#horizonMs = horizonMs;
    this.lifeMs = Math.min(...lease.terms.map(({ lifeMs }) => lifeMs));
    this.leastCapacity = Math.min(...lease.plan.terms.map(({ numbers }) => numbers[0]));
    this.#holdings = lease.terms.map((term) => new Holding(term));
  }

  /** The units that were asked for in a horizon: the last whole one, or this one. */
  get demand(): number {
    return Math.max(this.#before, this.#since);
  }

  /** Whether there is any unit here, of any policy. */
  get holds(): boolean {
    return this.#holdings.some(({ endsMs }) => endsMs !== -Infinity);
  }

  /** Whether units that are not used in time are gone. */
  get lapses(): boolean {
    return this.lease.terms.some(({ perMs }) => perMs > 0);
  }

  /** Whether at least half of what it can hold was left when the store was asked last. */
  get rich(): boolean {
    const { terms } = this.lease.plan;
    return this.#holdings.every(({ remaining }, i) => 2 * remaining >= terms[i].numbers[0]);
  }

  /** The most that may be held of what hardly comes back. */
  get mostOfSlow(): number {
    const most = this.#holdings.map(({ remaining }, i) =>
      this.lease.terms[i].slow ? MOST_OF_SLOW * remaining : Infinity,
    );
    return Math.min(...most);
  }

  /** What the caller's clock says by now, if it has one and that has gone on as this process's. */
  nowAt(realMs: number): number {
    return this.now === undefined ? realMs : this.now + realMs - this.usedMs;
  }

  /** Counts a request. */
  asked(cost: number, nowMs: number): void {
    const passed = nowMs - this.#sinceMs;
    if (passed >= this.#horizonMs || passed < 0) {
      this.#before = passed < 2 * this.#horizonMs ? this.#since : 0;
      this.#since = 0;
      this.#sinceMs = nowMs;
    }
    this.#since += cost;
  }

  /** How many units can be used at once. */
  usable(nowMs: number): number {
    return Math.min(...this.#holdings.map((holding) => holding.usable(nowMs)));
  }

  /** Per term, how many units are missing from so many. */
  missing(units: number, nowMs: number): number[] {
    return this.#holdings.map((holding) => Math.max(0, units - holding.usable(nowMs)));
  }

  use(units: number): void {
    for (const holding of this.#holdings) holding.use(units);
  }

  /** Whether some units have ended. */
  ended(nowMs: number): boolean {
    return this.#holdings.some(({ endsMs }) => endsMs !== -Infinity && endsMs <= nowMs);
  }

  /** Puts down all units; per term, how many the store may be given back. */
  putDown(nowMs: number): number[] {
    this.askedUntilMs = -Infinity;
    return this.#holdings.map((holding) => holding.putDown(nowMs));
  }

  /** Where the store has booked what can be used, per term. */
  get charges(): { at: number; level: number }[] {
    return this.#holdings.map(({ at }) => ({ at, level: 0 }));
  }

  /** Takes what the store has charged of so many units; per term, whether it was all. */
  take(wanted: readonly number[], answer: Answer, askedMs: number, marginMs: number): boolean[] {
    this.note(answer, askedMs);
    const all = this.#holdings.map((holding, i) => {
      const taken = answer[i * ANSWER_WIDTH + TAKEN];
      holding.add(taken, answer[i * ANSWER_WIDTH + AT], askedMs, marginMs);
      return taken === wanted[i];
    });
    if (!all.every(Boolean)) this.scarceMs = askedMs;
    this.askedUntilMs = askedMs + this.#windowLeftMs(answer);
    return all;
  }

  /** Notes how the key stands by an answer of the store. */
  note(answer: Answer, askedMs: number): void {
    this.#holdings.forEach((holding, i) => {
      const from = i * ANSWER_WIDTH;
      // Where something is held, refunds must find where that was booked.
      const at = holding.endsMs === -Infinity ? answer[from + AT] : holding.at;
      holding.note(answer[from + REMAINING], answer[from + RESET], at, askedMs);
    });
  }

  /** Whether the answer denies by policies that have nothing left and that it pays to wait a horizon for, and by no other. */
  waits(answer: Answer): boolean {
    const denying = this.lease.terms.flatMap(({ slow }, i) =>
      answer[i * ANSWER_WIDTH + RETRY] === 0 ? [] : [!slow && answer[i * ANSWER_WIDTH + REMAINING] === 0],
    );
    return denying.length > 0 && denying.every(Boolean);
  }

  /** How the key stands, of a request that costs so much and has to wait until then, if it does. */
  answer(cost: number, nowMs: number, untilMs: number): number[] {
    const waitMs = Math.max(1, Math.ceil(untilMs - nowMs));
    return this.#holdings.flatMap((holding) => {
      const usable = holding.usable(nowMs);
      const resetMs = Math.max(1, Math.ceil(holding.resetMs - nowMs));
      const fits = untilMs <= nowMs || usable >= cost;
      const wait = fits ? 0 : waitMs;
      return [usable + holding.remaining, wait, Math.max(resetMs, wait), holding.at, 0];
    });
  }

  #windowLeftMs(answer: Answer): number {
    const left = this.lease.terms.map(({ alignedMs }, i) =>
      alignedMs === 0 ? Infinity : alignedMs - (answer[i * ANSWER_WIDTH + AT] % alignedMs),
    );
    return Math.min(...left);
  }
}
