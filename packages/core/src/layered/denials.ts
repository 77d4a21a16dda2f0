/**
 * Denials that are remembered until they end.
 *
 * @module
 */

import { AT, DELAY, REMAINING, RESET, RETRY } from '../algorithms/outcome.js';
import { ANSWER_WIDTH, type Answer, type Plan } from '../types.js';

/** However long a denial lasts, the store is asked again by then: clocks drift, and messages get lost. */
export const LONGEST_MS = 30_000;

/** The most keys that denials are remembered of; the oldest goes first. */
const MOST_KEYS = 100_000;

/** The most costs per key. */
const MOST_COSTS = 16;

/** A question, and when it was put and answered, by the clock that all questions here are timed by. */
export interface Question {
  readonly key: string;
  readonly cost: number;
  readonly plan: Plan;
  readonly askedMs: number;
  /** How much further the store's clock may be than it says: its milliseconds are whole. */
  readonly marginMs: number;
}

/** An answer that holds, moved on by the time that passes, until `untilMs`. */
interface Known {
  readonly answer: readonly number[];
  readonly answeredMs: number;
  readonly untilMs: number;
}

/**
 * A key that has nothing left, or is blocked. Until a single unit fits, or the block ends, nobody is charged anything, and
 * so nothing changes but by time: what is answered meanwhile holds as long.
 */
interface Frozen {
  readonly plan: Plan;
  readonly sinceMs: number;
  readonly untilMs: number;
  readonly byCost: Map<number, Known>;
}

interface Entry {
  frozen: Frozen | undefined;
  /** The one request that finds out whether the denial is over. */
  probe: Promise<unknown> | undefined;
}

export class Denials {
  readonly #entries = new Map<string, Entry>();

  /** The answer to a question at `askedMs`, if that is known. */
  answer({ key, cost, plan, askedMs }: Question): Answer | undefined {
    const frozen = this.#entries.get(key)?.frozen;
    if (frozen === undefined || frozen.plan !== plan) return undefined;
    const known = frozen.byCost.get(cost);
    if (known === undefined || askedMs < frozen.sinceMs || askedMs >= known.untilMs) return undefined;
    return movedOn(known.answer, Math.max(0, Math.floor(askedMs - known.answeredMs)));
  }

  /** The one that is finding out the same about a key that was denied, if there is one. */
  probe({ key, cost, plan }: Question): Promise<unknown> | undefined {
    const entry = this.#entries.get(key);
    // Of other costs it would say nothing.
    return entry?.frozen?.plan === plan && entry.frozen.byCost.has(cost) ? entry.probe : undefined;
  }

  /** Notes that `work` finds out about the key, if that was denied before: others wait for it. */
  probing(key: string, work: Promise<unknown>): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    entry.probe = work;
    const over = () => {
      if (entry.probe === work) entry.probe = undefined;
    };
    work.then(over, over);
  }

  /** Learns from an answer of the store. Returns whether it would have to know when a single unit fits, and does not. */
  learn(question: Question, answer: Answer, answeredMs: number): boolean {
    const { key, cost, plan, askedMs, marginMs } = question;
    const terms = termsOf(answer, plan);
    // A clock that has stepped back has to catch up first: no wait of this answer grows shorter until then.
    if (marginMs === 0 && terms.some(({ at }) => at > askedMs)) return false;
    if (terms.every(({ retry }) => retry === 0)) {
      // Where something is left, whoever waits need not come one after the other.
      if (terms.every(({ remaining }) => remaining > 0)) this.#entries.delete(key);
      return false;
    }
    if (!terms.some(({ remaining }) => remaining < 0) && !isExhausted(terms, plan)) return false;
    const waits = terms
      .map(({ retry, remaining, delay }) => (remaining < 0 ? delay : retry))
      .filter((wait) => wait > 0);
    const untilMs = askedMs + Math.min(...waits, LONGEST_MS) - marginMs;
    const entry = this.#entryOf(key);
    if (cost === 1) entry.frozen = { plan, sinceMs: askedMs, untilMs, byCost: new Map() };
    const { frozen } = entry;
    // Of a single unit that is known by then, if too late: to ask again and again would be to wait by asking.
    if (frozen?.plan !== plan || askedMs < frozen.sinceMs || answeredMs >= frozen.untilMs) return cost !== 1;
    if (frozen.byCost.size < MOST_COSTS) {
      // A store may have more behind it.
      const numbers = Array.from(answer).slice(0, plan.terms.length * ANSWER_WIDTH);
      const known = { answer: numbers, answeredMs, untilMs: Math.min(untilMs, frozen.untilMs) };
      frozen.byCost.set(cost, known);
    }
    return false;
  }

  forget(key: string): void {
    this.#entries.delete(key);
  }

  /** The entry of a key, as the newest of all. */
  #entryOf(key: string): Entry {
    const entry = this.#entries.get(key) ?? { frozen: undefined, probe: undefined };
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    if (this.#entries.size > MOST_KEYS) this.#entries.delete(this.#entries.keys().next().value as string);
    return entry;
  }
}

/** What a term says; of one in which the key is blocked, `delay` is the wait until that ends. */
interface Said {
  readonly remaining: number;
  readonly retry: number;
  readonly at: number;
  readonly delay: number;
}

/** Whether nothing is left, and a denial is nothing that the store has to see: where the policy blocks, it is a strike. */
function isExhausted(terms: readonly Said[], plan: Plan): boolean {
  const strikes = plan.terms.some(({ block }) => block !== undefined);
  return !strikes && terms.some(({ retry, remaining }) => retry > 0 && remaining === 0);
}

function termsOf(answer: Answer, { terms }: Plan): Said[] {
  return terms.map((_, i) => ({
    at: answer[i * ANSWER_WIDTH + AT],
    remaining: answer[i * ANSWER_WIDTH + REMAINING],
    retry: answer[i * ANSWER_WIDTH + RETRY],
    delay: answer[i * ANSWER_WIDTH + DELAY],
  }));
}

/** The answer so much later, if nothing happened in between. */
function movedOn(answer: readonly number[], ms: number): number[] {
  return answer.map((number, i) => {
    const field = i % ANSWER_WIDTH;
    // What is beyond counting stays so, and what has no end.
    if (number === Number.MAX_SAFE_INTEGER || number < 0) return number;
    if (field === RETRY) return number > 0 ? number - ms : number;
    if (field === RESET) return Math.max(0, number - ms);
    return field === AT ? number + ms : number;
  });
}
