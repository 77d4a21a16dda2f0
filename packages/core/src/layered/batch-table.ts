/**
 * A table that admits some units by itself before it reports them to its store.
 *
 * @module
 */

import { LONGEST_KEY } from '../key.js';
import {
  ANSWER_WIDTH,
  type Answer,
  type Charge,
  type Gate,
  type ParsedPolicy,
  type Plan,
  type Table,
} from '../types.js';

import type { LayeredCounts } from './strict-table.js';

const REMAINING = 0;
const RESET = 2;
const AT = 3;

/** The most keys that are accounted for; of others, and of those that are long, the store is asked each time. */
const MOST_KEYS = 100_000;

/** What this process knows and owes of a key. */
interface Account {
  readonly id: string;
  plan: Plan;
  /** The store's last answer, and when it came. */
  answer: readonly number[];
  answeredMs: number;
  /** Whether that still holds: not when units were corrected since. */
  holds: boolean;
  /** The caller's clock at the last request, if it has one. */
  now: number | undefined;
  /** Units that were admitted here since, and have not been reported. */
  spent: number;
  /** Units whose report is on its way. */
  sent: number;
  /** While it is. */
  report: Promise<unknown> | undefined;
  /** Whether it was asked for since the last sweep. */
  used: boolean;
}

/** How much may be owed, and for how long. */
export interface Credit {
  /** The most units of a key that have not been reported, whether their report is on its way or not. */
  readonly maxUnsynced: number;
  /** How often what is owed is reported at least, in ms. */
  readonly everyMs: number;
}

/**
 * Admits by the store's last answer as long as no more than `maxUnsynced` units of the key are unreported, then reports
 * them, beyond the limit too: debt is remembered.
 */
export class BatchTable implements Table<true> {
  readonly #table: Table<true>;
  readonly #credit: Credit;
  readonly #counts: LayeredCounts;
  readonly #accounts = new Map<string, Account>();
  #timer: NodeJS.Timeout | undefined;

  /** @param counts - where decisions count that the table is not asked for. */
  constructor(table: Table<true>, credit: Credit, counts: LayeredCounts) {
    this.#table = table;
    this.#credit = credit;
    this.#counts = counts;
  }

  get gate(): Gate | undefined {
    return this.#table.gate;
  }

  async decide(
    id: string,
    cost: number,
    plan: Plan,
    charge: boolean,
    now: number | undefined,
  ): Promise<Answer> {
    if (!charge || cost === 0) {
      await this.#settled(id, now);
      return this.#table.decide(id, cost, plan, charge, now);
    }
    for (;;) {
      const account = this.#accounts.get(id);
      if (account !== undefined && this.#covers(account, cost, plan)) {
        this.#counts.decisions += 1;
        account.spent += cost;
        account.used = true;
        account.now = now;
        this.#schedule();
        return standing(account, now);
      }
      if (account?.report === undefined) return this.#ask(id, cost, plan, now);
      await account.report.catch(() => {});
    }
  }

  async charge(id: string, units: readonly number[], plan: Plan, now: number | undefined): Promise<Answer> {
    return this.#table.charge(id, units, plan, now);
  }

  /** After what is owed, so that what is corrected is there. */
  async correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<ArrayLike<number>> {
    await this.#settled(id, now);
    const account = this.#accounts.get(id);
    if (account !== undefined) account.holds = false;
    return this.#table.correct(id, units, plan, charges, now);
  }

  async reset(id: string): Promise<void> {
    await this.#accounts.get(id)?.report?.catch(() => {});
    this.#accounts.delete(id);
    return this.#table.reset(id);
  }

  update(policies: readonly ParsedPolicy[]): void {
    this.#table.update?.(policies);
  }

  /** Reports what is owed; nobody waits for it. */
  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const reports = [...this.#accounts.values()].map((account) => this.#report(account, account.now));
    void Promise.allSettled(reports).then(() => this.#table.close());
  }

  /** Whether a request may be admitted without asking. */
  #covers(account: Account, cost: number, plan: Plan): boolean {
    const unsynced = account.spent + account.sent;
    if (!account.holds || account.plan !== plan || unsynced + cost > this.#credit.maxUnsynced) return false;
    for (let i = REMAINING; i < account.answer.length; i += ANSWER_WIDTH) {
      if (account.answer[i] < unsynced + cost) return false;
    }
    return true;
  }

  /** Reports what is owed, and asks. */
  async #ask(id: string, cost: number, plan: Plan, now: number | undefined): Promise<Answer> {
    const known = this.#accounts.get(id);
    const reported = known === undefined ? undefined : this.#report(known, now);
    // Right behind it, on the same connection.
    const asked = this.#table.decide(id, cost, plan, true, now);
    if (known !== undefined) known.report = Promise.allSettled([reported, asked]);
    try {
      await reported;
    } finally {
      // Whatever becomes of the report, the answer is the caller's.
      if (known !== undefined && this.#accounts.get(id) === known) known.report = undefined;
    }
    return this.#note(id, plan, await asked, now);
  }

  #note(id: string, plan: Plan, answer: Answer, now: number | undefined): Answer {
    const account = this.#accounts.get(id);
    const numbers = Array.from(answer);
    const answeredMs = now ?? performance.now();
    const news = { plan, answer: numbers, answeredMs, holds: true, now, used: true };
    if (account !== undefined) Object.assign(account, news);
    else if (this.#accounts.size < MOST_KEYS && id.length <= LONGEST_KEY) {
      this.#accounts.set(id, { id, ...news, spent: 0, sent: 0, report: undefined });
      this.#schedule();
    }
    return answer;
  }

  /**
   * Tells the store what was spent since the last report. Where nobody knows whether that was done, it is owed again: it
   * may count twice, but the bound holds.
   */
  async #report(account: Account, now: number | undefined): Promise<void> {
    const { id, plan, spent } = account;
    if (spent === 0) return;
    account.sent += spent;
    account.spent = 0;
    const answer = standing(account, now);
    const charges = plan.terms.map((_, i) => ({ at: answer[i * ANSWER_WIDTH + AT], level: spent }));
    const units = plan.terms.map(() => -spent);
    this.#counts.asked += 1;
    try {
      await this.#table.correct(id, units, plan, charges, now);
    } catch (error) {
      account.spent += spent;
      throw error;
    } finally {
      account.sent -= spent;
    }
  }

  async #settled(id: string, now: number | undefined): Promise<void> {
    const account = this.#accounts.get(id);
    if (account === undefined) return;
    await account.report?.catch(() => {});
    await this.#report(account, now);
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#sweep();
    }, this.#credit.everyMs).unref();
  }

  /** Reports what is owed, and forgets keys that were not asked for since the last time and owe nothing. */
  #sweep(): void {
    for (const [id, account] of this.#accounts) {
      if (account.spent > 0) this.#report(account, account.now).catch(() => {});
      else if (!account.used && account.report === undefined) this.#accounts.delete(id);
      account.used = false;
    }
    if (this.#accounts.size > 0) this.#schedule();
  }
}

/** How the key stands by what this process knows. */
function standing({ answer, answeredMs, spent, sent }: Account, now: number | undefined): number[] {
  const ms = Math.max(0, Math.floor((now ?? performance.now()) - answeredMs));
  return answer.map((number, i) => {
    const field = i % ANSWER_WIDTH;
    if (field === REMAINING) return number - spent - sent;
    if (field === RESET) return Math.max(1, number - ms);
    return field === AT ? number + ms : 0;
  });
}
