/**
 * Requests, judged by all the policies of a plan, by what a ledger holds.
 *
 * @module
 */

import { ALWAYS, AT, DELAY, NEVER, NOTHING, REMAINING, RESET, RETRY, WRITES } from '../algorithms/outcome.js';
import { ANSWER_WIDTH, type Answer, type ParsedPolicy, type Plan } from '../types.js';
import type { Ledger } from './ledger.js';

export class Judge {
  /** Whether the request that was judged last changes anything. */
  writes = false;
  readonly #ledger: Ledger;
  readonly #answer: Float64Array;

  constructor(ledger: Ledger, policies: readonly ParsedPolicy[]) {
    this.#ledger = ledger;
    this.#answer = new Float64Array(policies.length * ANSWER_WIDTH);
  }

  /**
   * Judges a request of the key in `slot` (0: a new key) and stores what it changes, but for a new key: that is left to
   * {@link Ledger.write}. Returns whether all policies of the plan admit it.
   *
   * @param deniedElsewhere - whether a policy of another key denies it.
   */
  decide(
    slot: number,
    cost: number,
    plan: Plan,
    charge: boolean,
    now: number,
    deniedElsewhere: boolean,
  ): boolean {
    const { sections, ahead } = this.#ledger;
    if (sections.length > 1 || deniedElsewhere || ahead.size > 0)
      return this.#decideAll(slot, cost, plan, charge, now, deniedElsewhere);
    return this.#decideLone(slot, cost, plan, charge, now);
  }

  /** Whether all policies of the plan admit a request of the key in `slot`. */
  admits(slot: number, cost: number, plan: Plan, now: number): boolean {
    for (let i = 0; i < plan.terms.length; i++) {
      if (this.#ledger.decide(slot, plan, i, cost, now)[RETRY] !== 0) return false;
    }
    return true;
  }

  /** The same as for several, without loops and with the row at hand: most limiters have one policy. */
  #decideLone(slot: number, cost: number, plan: Plan, charge: boolean, now: number): boolean {
    const { sections, rows } = this.#ledger;
    const section = sections[0];
    const row = rows.piece(slot);
    const base = rows.base(slot);
    const { numbers } = plan.terms[0];
    const out = section.decide(numbers, row, base, now, cost);
    const fits = out[RETRY] === 0;
    this.writes = out[WRITES] !== NOTHING;
    if (!this.writes) return fits;
    if (!charge) this.#decideUncharged(slot, plan, 0, now);
    else if (slot > 0) {
      row[base] = out[AT] + out[RESET];
      section.write(numbers, row, base);
    }
    return fits;
  }

  #decideAll(
    slot: number,
    cost: number,
    plan: Plan,
    charge: boolean,
    now: number,
    deniedElsewhere: boolean,
  ): boolean {
    const ledger = this.#ledger;
    let fits = true;
    for (let i = 0; i < plan.terms.length; i++) {
      if (ledger.decide(slot, plan, i, cost, now)[RETRY] !== 0) fits = false;
    }
    const admitted = fits && !deniedElsewhere;
    this.writes = false;
    for (let i = 0; i < plan.terms.length; i++) {
      const section = ledger.sections[plan.places[i]];
      const { out } = section;
      const writes = out[WRITES];
      // Another policy denies, but here the request counts, and the wait is worked out after that.
      if (!admitted) {
        const counts = writes === ALWAYS && out[RETRY] === 0;
        out[DELAY] = counts ? section.waitAfter(plan.terms[i].numbers, now, cost) : 0;
      }
      if (writes === NOTHING) continue;
      if (charge && (admitted || writes === ALWAYS)) this.writes = true;
      else this.#decideUncharged(slot, plan, i, now);
    }
    if (slot > 0 && this.writes) ledger.write(slot, plan, now);
    return fits;
  }

  /**
   * Judges a charge of each policy by itself, up to its units and no more than what remains, and stores it as
   * {@link decide} does.
   */
  charge(slot: number, units: readonly number[], plan: Plan, now: number): void {
    this.writes = false;
    for (let i = 0; i < plan.terms.length; i++) {
      const room = this.#ledger.decide(slot, plan, i, 0, now)[REMAINING];
      const taken = Math.min(units[i], room);
      const out = this.#ledger.decide(slot, plan, i, taken, now);
      out[DELAY] = taken;
      if (out[WRITES] !== NOTHING) this.writes = true;
    }
    if (slot > 0 && this.writes) this.#ledger.write(slot, plan, now);
  }

  /** The first instant from `now` on that no reservation of the key lies after. */
  openFrom(slot: number, plan: Plan, now: number): number {
    return Math.max(now, ...plan.places.map((place) => this.#ledger.ahead.at(slot, place)));
  }

  /**
   * Judges a request at an instant. Returns the first instant from then on at which all policies of the plan admit it,
   * `Infinity` if one never will.
   *
   * @param again - whether it is the same request as before, so much later as it was told then.
   */
  fitsFrom(slot: number, cost: number, plan: Plan, at: number, again: boolean): number {
    let from = at;
    for (let i = 0; i < plan.terms.length; i++) {
      const section = this.#ledger.sections[plan.places[i]];
      const { out } = section;
      // What is taken over from other numbers is so for the wait that was told.
      if (again && out[WRITES] === ALWAYS && out[RETRY] > 0) section.again(plan.terms[i].numbers, at, cost);
      else this.#ledger.decide(slot, plan, i, cost, at);
      if (out[RETRY] === NEVER) return Infinity;
      if (out[RETRY] > 0) from = Math.max(from, out[AT] + out[RETRY]);
    }
    return from;
  }

  /** How long the request that was judged last, and fits, is held. */
  held(plan: Plan): number {
    return Math.max(...plan.places.map((place) => this.#ledger.sections[place].out[DELAY]));
  }

  /** Notes that the key in `slot` has been charged what was judged last so much later than now. */
  stand(slot: number, plan: Plan, wait: number): void {
    for (const place of plan.places) {
      const { out } = this.#ledger.sections[place];
      out[DELAY] += wait;
      if (wait > 0) this.#ledger.ahead.set(slot, place, out[AT]);
    }
  }

  /** What the request that was judged last is told. */
  answer(plan: Plan): Answer {
    const { sections } = this.#ledger;
    if (plan.places.length === 1) return sections[plan.places[0]].out;
    plan.places.forEach((place, i) => {
      for (let j = 0; j < ANSWER_WIDTH; j++) {
        this.#answer[i * ANSWER_WIDTH + j] = sections[place].out[j];
      }
    });
    return this.#answer;
  }

  /** Keeps what the request is told of its own chances, and reports the rest as it stands without it. */
  #decideUncharged(slot: number, plan: Plan, i: number, now: number): void {
    const { out } = this.#ledger.sections[plan.places[i]];
    const retry = out[RETRY];
    const delay = out[DELAY];
    this.#ledger.decide(slot, plan, i, 0, now);
    out[RETRY] = retry;
    out[DELAY] = delay;
  }
}
