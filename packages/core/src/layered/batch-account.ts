/**
 * What a process knows and owes of one key that it admits in batches.
 *
 * @module
 */

import { AT, REMAINING, RESET } from '../algorithms/outcome.js';
import { ANSWER_WIDTH, type Answer, type Charge, type Plan } from '../types.js';

/** So many reports are remembered, to find what they booked. */
const MOST_LUMPS = 8;

/** Units that were admitted at several instants, and booked on one. */
interface Lump {
  /** The first and the last instant, as decisions say. */
  readonly from: number;
  readonly to: number;
  /** Where each policy booked them. */
  readonly charges: readonly Charge[];
}

/** Units that are on their way. */
interface Sending {
  readonly units: number;
  /** Ends it: so many are owed still, the others booked. */
  done(owed: number, charges: readonly Charge[] | undefined): void;
}

export class BatchAccount {
  readonly id: string;
  plan: Plan = { terms: [], places: [] };
  /** The caller's clock at the last request, if it has one. */
  now: number | undefined;
  /** Units that were admitted here, and have not been reported. */
  spent = 0;
  /** While a report is on its way: settled when it is answered. */
  report: Promise<void> | undefined;
  /** Whether the last report failed, and nothing was answered since. */
  failing = false;
  /** The store's last answer, and when it came. */
  #answer: readonly number[] = [];
  #answeredMs = 0;
  #untilMs = -Infinity;
  #order = 0;
  /** Units whose report is on its way. */
  #sent = 0;
  /** When the first of those that are not reported was admitted, as its decision says. */
  #from = Infinity;
  #lumps: readonly Lump[] = [];

  constructor(id: string) {
    this.id = id;
  }

  /** Units that the store has not confirmed. */
  get unsynced(): number {
    return this.spent + this.#sent;
  }

  /** Takes an answer of the store to go on by, unless that to a later question is known. */
  learn(order: number, plan: Plan, answer: Answer, now: number | undefined, holdsMs: number): void {
    // What was spent under another plan has to be charged by that.
    if (order < this.#order || (plan !== this.plan && this.unsynced > 0)) return;
    this.#order = order;
    this.plan = plan;
    // A store may have more behind it.
    this.#answer = Array.from(answer).slice(0, plan.terms.length * ANSWER_WIDTH);
    this.#answeredMs = now ?? performance.now();
    this.#untilMs = this.#answeredMs + holdsMs;
  }

  /** The last answer holds no longer. */
  doubt(): void {
    this.#untilMs = -Infinity;
  }

  /** Nothing is owed any more. */
  forgive(): void {
    this.spent = 0;
    this.doubt();
  }

  /** Whether a request may be admitted without asking, so that at most `most` units are unreported. */
  covers(cost: number, plan: Plan, most: number, nowMs: number): boolean {
    const unsynced = this.unsynced + cost;
    if (unsynced > most || plan !== this.plan || nowMs >= this.#untilMs) return false;
    for (let i = REMAINING; i < this.#answer.length; i += ANSWER_WIDTH) {
      if (this.#answer[i] < unsynced) return false;
    }
    return true;
  }

  /** Admits a request, and returns how the key stands then. */
  spend(cost: number, nowMs: number): number[] {
    this.spent += cost;
    this.#from = Math.min(this.#from, this.#instant(nowMs));
    const ms = this.#passedMs(nowMs);
    return this.#answer.map((number, i) => {
      const field = i % ANSWER_WIDTH;
      if (field === REMAINING) return number - this.unsynced;
      if (field === RESET) return Math.max(1, number - ms);
      return field === AT ? number + ms : 0;
    });
  }

  /** Begins a report of all that was spent. */
  send(nowMs: number): Sending {
    const units = this.spent;
    const from = this.#from;
    const to = this.#instant(nowMs);
    this.spent = 0;
    this.#from = Infinity;
    this.#sent += units;
    return {
      units,
      done: (owed, charges) => {
        this.#sent -= units;
        this.spent += owed;
        if (owed > 0) this.#from = Math.min(this.#from, from);
        if (charges !== undefined) this.#lumps = [{ from, to, charges }, ...this.#lumps].slice(0, MOST_LUMPS);
      },
    };
  }

  /** Where the store has booked what decisions say was charged then. */
  booked(charges: readonly Charge[]): readonly Charge[] {
    const at = charges[0]?.at;
    const lump = this.#lumps.find(({ from, to }) => from <= at && at <= to);
    return lump?.charges.length === charges.length ? lump.charges : charges;
  }

  #passedMs(nowMs: number): number {
    return Math.max(0, Math.floor(nowMs - this.#answeredMs));
  }

  /** What the store's clock says at least. */
  #instant(nowMs: number): number {
    return (this.#answer[AT] ?? 0) + this.#passedMs(nowMs);
  }
}
