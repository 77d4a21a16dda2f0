/**
 * A table that asks its store for every decision but those that are known to be denied.
 *
 * @module
 */

import { waitOf } from '../decision.js';
import { reserveOn } from '../reserve.js';
import { ANSWER_WIDTH, type Answer, type Charge, type Plan, type Table } from '../types.js';
import { Denials, type Question } from './denials.js';
import { FrontTable } from './front-table.js';
import { heldKey } from './held-key.js';

/** So often a request waits for what another finds out; then it asks by itself. */
const MOST_WAITS = 4;

/** What a layered store has counted since it was made. */
export interface LayeredCounts {
  /** The decisions that limiters asked for. */
  decisions: number;
  /** How often its store was asked: for one of them, to charge some in advance or afterwards, or to take that back. */
  asked: number;
}

/** The questions of a key that are on their way, since it was forgotten last. */
interface Asking {
  questions: number;
  /** Whether it was forgotten again. */
  forgotten: boolean;
}

/** Who is told. */
interface Told {
  /** No process is to remember anything of this key. */
  forgotten(key: string): void;
  closed(): void;
}

/**
 * Remembers a denial until it ends. It ends early when units are given back or added, and when the key is reset:
 * here at once, elsewhere when the word has got there.
 */
export class StrictTable extends FrontTable {
  readonly block: Table<true>['block'];
  readonly unblock: Table<true>['unblock'];
  readonly #counts: LayeredCounts;
  readonly #remembers: boolean;
  readonly #told: Told;
  readonly #denials = new Denials();
  /** Of keys that are being asked for: when one is forgotten, the answers that are on their way may be of before. */
  readonly #asking = new Map<string, Asking>();

  /** @param remembers - whether denials can be: not where they count. */
  constructor(table: Table<true>, counts: LayeredCounts, remembers: boolean, told: Told) {
    super(table);
    this.#counts = counts;
    this.#remembers = remembers;
    this.#told = told;
    // Where the store has them.
    const { block, unblock } = table;
    this.block = block && ((id, ...rest) => this.#forgetting(id, block.call(table, id, ...rest)));
    this.unblock = unblock && ((id, ...rest) => this.#forgetting(id, unblock.call(table, id, ...rest)));
  }

  override decide(
    id: string,
    cost: number,
    plan: Plan,
    charge: boolean,
    now: number | undefined,
  ): Promise<Answer> {
    this.#counts.decisions += 1;
    return this.judge(id, cost, plan, charge, now);
  }

  /** As `decide` does, of a decision that has been counted. */
  async judge(
    id: string,
    cost: number,
    plan: Plan,
    charge: boolean,
    now: number | undefined,
  ): Promise<Answer> {
    if (!this.#remembers) return this.#ask(id, questionOf(id, cost, plan, now), charge, now);
    for (let waited = 0; waited < MOST_WAITS; waited++) {
      const question = questionOf(id, cost, plan, now);
      const known = this.#denials.answer(question);
      if (known !== undefined) return known;
      const probe = this.#denials.probe(question);
      if (probe === undefined) {
        const asked = this.#ask(id, question, charge, now);
        this.#denials.probing(question.key, asked);
        return asked;
      }
      // Where the store fails, each is to fail by itself, and none to wait for the failures of others.
      const failed = await probe.then(
        () => false,
        () => true,
      );
      if (failed) break;
    }
    return this.#ask(id, questionOf(id, cost, plan, now), charge, now);
  }

  async reserve(
    id: string,
    cost: number,
    plan: Plan,
    mostWaitMs: number,
    now: number | undefined,
  ): Promise<Answer> {
    this.#counts.decisions += 1;
    this.#counts.asked += 1;
    const answer = await reserveOn(this.table, id, cost, plan, mostWaitMs, now);
    // Who was denied waits longer than was said, as who reserved comes first.
    const wait = waitOf(answer, plan);
    const placed = wait <= mostWaitMs && plan.terms.every((_, i) => answer[i * ANSWER_WIDTH + 1] === 0);
    if (placed && wait > 0) this.#forget(id);
    return answer;
  }

  /** The denial that is remembered, if there is one. */
  denial(id: string, cost: number, plan: Plan, now: number | undefined): Answer | undefined {
    return this.#remembers ? this.#denials.answer(questionOf(id, cost, plan, now)) : undefined;
  }

  override correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<ArrayLike<number>> {
    return this.#forgetting(id, this.table.correct(id, units, plan, charges, now));
  }

  override reset(id: string): Promise<void> {
    return this.#forgetting(id, this.table.reset(id));
  }

  override close(): void {
    super.close();
    this.#told.closed();
  }

  /** Charges units that were admitted here. */
  book(id: string, units: readonly number[], plan: Plan, now: number | undefined): Promise<Answer> {
    this.#counts.asked += 1;
    return this.table.charge(id, units, plan, now);
  }

  /** As `correct` does, of units that were booked here: nobody else is told. */
  rebook(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<ArrayLike<number>> {
    this.#counts.asked += 1;
    this.forget(heldKey(id));
    return this.table.correct(id, units, plan, charges, now);
  }

  /** Forgets what is known of a key. */
  forget(key: string): void {
    const asking = this.#asking.get(key);
    if (asking !== undefined) asking.forgotten = true;
    this.#asking.delete(key);
    this.#denials.forget(key);
  }

  async #ask(id: string, question: Question, charge: boolean, now: number | undefined): Promise<Answer> {
    this.#counts.asked += 1;
    const work = this.table.decide(id, question.cost, question.plan, charge, now);
    if (!this.#remembers) return work;
    const asking = this.#begin(question.key);
    const answer = await work.finally(() => this.#end(question.key, asking));
    if (asking.forgotten) return answer;
    if (this.#denials.learn(question, answer, now ?? performance.now()))
      this.#askOfOne(id, question.plan, now);
    return answer;
  }

  #begin(key: string): Asking {
    const asking = this.#asking.get(key) ?? { questions: 0, forgotten: false };
    asking.questions += 1;
    this.#asking.set(key, asking);
    return asking;
  }

  #end(key: string, asking: Asking): void {
    asking.questions -= 1;
    if (asking.questions === 0 && !asking.forgotten) this.#asking.delete(key);
  }

  /** Finds out when a single unit fits; nobody waits for it. */
  #askOfOne(id: string, plan: Plan, now: number | undefined): void {
    this.#ask(id, questionOf(id, 1, plan, now), false, now).catch(() => {});
  }

  /** Once more when it is done: what was asked for meanwhile may have been decided before. */
  async #forgetting<T>(id: string, work: Promise<T>): Promise<T> {
    this.forget(heldKey(id));
    try {
      return await work;
    } finally {
      this.#forget(id);
    }
  }

  /** Forgets what is known of a key, here and elsewhere. */
  #forget(id: string): void {
    const key = heldKey(id);
    this.forget(key);
    this.#told.forgotten(key);
  }
}

function questionOf(id: string, cost: number, plan: Plan, now: number | undefined): Question {
  const askedMs = now ?? performance.now();
  return { key: heldKey(id), cost, plan, askedMs, marginMs: now === undefined ? 1 : 0 };
}
