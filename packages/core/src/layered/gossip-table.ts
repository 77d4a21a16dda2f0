/**
 * A table that decides by what it and other processes have admitted, as far as it has heard.
 *
 * @module
 */

import { randomUUID } from 'node:crypto';
import { ownPlan } from '../policy.js';
import {
  ANSWER_WIDTH,
  type Answer,
  type Charge,
  type ParsedPolicy,
  type Plan,
  type Table,
} from '../types.js';
import { heldKey, MOST_KEYS } from './held-key.js';
import type { Count, Counts } from './message.js';
import { Peers } from './peers.js';
import type { LayeredCounts } from './strict-table.js';

/** So often each count is said: one that gets lost is made up for by the next. */
const TIMES = 3;

/** Counts are kept so much longer than windows last, so that no message of them is on its way any more. */
const LATE_MS = 60_000;

/** So many keys go into one message. */
const MOST_IN_MESSAGE = 500;

/** What a key's count here is, and what of it was not said yet. */
interface Own {
  total: number;
  news: number;
  /** What was given back and not said yet, and when the first of that was charged. */
  back: number;
  chargedMs: number;
  /** When it was counted last. */
  countedMs: number;
  /** How often it is still to be said. */
  times: number;
  reset: boolean;
}

function keepMsOf({ terms }: Plan, everyMs: number): number {
  return Math.max(0, ...terms.map(({ windowMs }) => windowMs)) + TIMES * everyMs + LATE_MS;
}

function unknown(): Own {
  return { total: 0, news: 0, back: 0, chargedMs: 0, countedMs: 0, times: 0, reset: false };
}

/** What processes have heard of each other. */
export interface GossipReport {
  /** How many other processes were heard of in the last minute. */
  readonly peers: number;
  /** The longest that units were admitted elsewhere before they were counted in here, without the way of the message. */
  readonly stalenessMs: number;
  /** The most units of a key that were found to be above its limit when they were counted in. */
  readonly overshoot: number;
}

/** Who carries what is said. */
export interface Speaker {
  say(counts: Omit<Counts, 'limiter'>): void;
  closed(): void;
}

export class GossipTable implements Table<true> {
  readonly #table: Table<false>;
  readonly #everyMs: number;
  readonly #counts: LayeredCounts;
  readonly #speaker: Speaker;
  /** Of all policies, by which what others admit is counted in. */
  #plan: Plan;
  /** How long counts are kept that do not change: afterwards the key is counted from 0 again, here and elsewhere. */
  #keepMs: number;
  readonly #from: string = randomUUID();
  #number = 0;
  readonly #own = new Map<string, Own>();
  /** Those that have something to be said. */
  readonly #telling = new Map<string, Own>();
  readonly #peers = new Peers();
  #sinceMs = Infinity;
  #stalenessMs = 0;
  #overshoot = 0;
  #now: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  /** @param table - in memory. */
  constructor(
    table: Table<false>,
    policies: readonly ParsedPolicy[],
    everyMs: number,
    counts: LayeredCounts,
    speaker: Speaker,
  ) {
    this.#table = table;
    this.#plan = ownPlan(policies);
    this.#everyMs = everyMs;
    this.#keepMs = keepMsOf(this.#plan, everyMs);
    this.#counts = counts;
    this.#speaker = speaker;
  }

  get report(): GossipReport {
    return { peers: this.#peers.size, stalenessMs: this.#stalenessMs, overshoot: this.#overshoot };
  }

  async decide(
    id: string,
    cost: number,
    plan: Plan,
    charge: boolean,
    now: number | undefined,
  ): Promise<Answer> {
    this.#counts.decisions += 1;
    this.#now = now;
    const key = heldKey(id);
    // A copy, as the next decision fills the same.
    const answer = Array.from(this.#table.decide(key, cost, plan, charge, now));
    const admitted = plan.terms.every((_, i) => answer[i * ANSWER_WIDTH + 1] === 0);
    if (charge && cost > 0 && admitted) this.#count(key, cost);
    return answer;
  }

  async charge(id: string, units: readonly number[], plan: Plan, now: number | undefined): Promise<Answer> {
    return Array.from(this.#table.charge(heldKey(id), units, plan, now));
  }

  async correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<ArrayLike<number>> {
    const key = heldKey(id);
    this.#now = now;
    const lacking = this.#table.correct(key, units, plan, charges, now);
    // What was added counts elsewhere as if it was admitted now; what is given back, where it was charged.
    const added = Math.max(0, ...units.map((count) => -count));
    const back = Math.max(0, ...units);
    if (added > 0) this.#count(key, added);
    if (back > 0) this.#countBack(key, back, Math.min(...charges.map(({ at }) => at)));
    return lacking;
  }

  async reset(id: string): Promise<void> {
    const key = heldKey(id);
    this.#table.reset(key);
    this.#tell(key, { ...unknown(), times: TIMES, reset: true });
  }

  update(policies: readonly ParsedPolicy[]): void {
    this.#table.update?.(policies);
    this.#plan = ownPlan(policies);
    this.#keepMs = keepMsOf(this.#plan, this.#everyMs);
  }

  /** Says the last. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#say();
    this.#table.close();
    this.#speaker.closed();
  }

  /** Counts in what another process has admitted, beyond the limits too. */
  hear(message: Counts): void {
    if (message.from === this.#from) return;
    const { news, silentMs } = this.#peers.hear(message, performance.now(), this.#keepMs);
    if (news.length === 0) return;
    this.#stalenessMs = Math.max(this.#stalenessMs, message.heldMs + silentMs);
    for (const { key, total, news: units, back, chargedMs } of news) {
      if (total === null) this.#table.reset(key);
      else {
        if (units !== 0) this.#countIn(key, units);
        if (back > 0) this.#giveBack(key, back, chargedMs);
      }
    }
  }

  #countIn(key: string, units: number): void {
    const plan = this.#plan;
    const now = this.#now;
    const answer = Array.from(this.#table.decide(key, 0, plan, false, now));
    const charges = plan.terms.map((_, i) => ({ at: answer[i * ANSWER_WIDTH + 3], level: 0 }));
    for (let i = 0; i < plan.terms.length; i++) {
      this.#overshoot = Math.max(this.#overshoot, units - answer[i * ANSWER_WIDTH]);
    }
    const each = plan.terms.map(() => -units);
    this.#table.correct(key, each, plan, charges, now);
  }

  /** Gives back what another process does: of windows, only in that in which it was charged. */
  #giveBack(key: string, units: number, chargedMs: number): void {
    const plan = this.#plan;
    const each = plan.terms.map(() => units);
    const charges = plan.terms.map(() => ({ at: chargedMs, level: 0 }));
    this.#table.correct(key, each, plan, charges, this.#now);
  }

  /** Counts what was admitted here. */
  #count(key: string, units: number): void {
    const own = this.#ownOf(key);
    own.total += units;
    own.news += units;
    own.times = TIMES;
    this.#tell(key, own);
  }

  /** Counts what was given back here, of a charge at that instant. */
  #countBack(key: string, units: number, chargedMs: number): void {
    const own = this.#ownOf(key);
    own.chargedMs = own.back === 0 ? chargedMs : Math.min(own.chargedMs, chargedMs);
    own.back += units;
    own.times = Math.max(1, own.times);
    this.#tell(key, own);
  }

  #ownOf(key: string): Own {
    const own = this.#own.get(key);
    return own === undefined || performance.now() - own.countedMs >= this.#keepMs ? unknown() : own;
  }

  /** Remembers a count as the newest, in place of the oldest where there are too many, and says it soon. */
  #tell(key: string, own: Own): void {
    own.countedMs = performance.now();
    this.#own.delete(key);
    this.#own.set(key, own);
    if (this.#own.size > MOST_KEYS) this.#own.delete(this.#own.keys().next().value as string);
    if (this.#sinceMs === Infinity) this.#sinceMs = performance.now();
    this.#telling.set(key, own);
    this.#schedule();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#say();
      if (this.#telling.size > 0) this.#schedule();
    }, this.#everyMs).unref();
  }

  #say(): void {
    const counts: Count[] = [];
    for (const [key, own] of this.#telling) {
      const { news, back, chargedMs } = own;
      counts.push({ key, total: own.reset ? null : own.total, news, back: own.reset ? 0 : back, chargedMs });
      // What came since a reset is said after it.
      if (own.reset) own.times = news === 0 && back === 0 ? 0 : TIMES;
      else own.news = own.back = 0;
      own.reset = false;
      own.times -= 1;
      if (own.times <= 0) this.#telling.delete(key);
    }
    const heldMs = this.#sinceMs === Infinity ? 0 : Math.ceil(performance.now() - this.#sinceMs);
    this.#sinceMs = Infinity;
    for (let i = 0; i < counts.length; i += MOST_IN_MESSAGE) {
      const some = counts.slice(i, i + MOST_IN_MESSAGE);
      this.#speaker.say({ from: this.#from, number: this.#number++, heldMs, counts: some });
    }
  }
}
