/**
 * A table that admits some units by itself before it reports them to its store.
 *
 * @module
 */

import { LONGEST_KEY } from '../key.js';
import { renewedPlan } from '../policy.js';
import { ANSWER_WIDTH, type Answer, type Charge, type ParsedPolicy, type Plan } from '../types.js';
import { BatchAccount } from './batch-account.js';
import { FrontTable } from './front-table.js';
import { heldKey, MOST_KEYS } from './held-key.js';
import type { LayeredCounts, StrictTable } from './strict-table.js';

/** So often a request waits for a report; then it asks by itself. */
const MOST_WAITS = 4;

/** How much may be owed, and for how long. */
export interface Credit {
  /** The most units of a key that have not been reported, whether their report is on its way or not. */
  readonly maxUnsynced: number;
  /** How often what is owed is reported at least, in ms; an answer of the store holds as long. */
  readonly everyMs: number;
}

/**
 * Admits by the store's last answer as long as no more than `maxUnsynced` units of the key are unreported, then reports
 * them, beyond the limit too: debt is remembered. What a report says in turn is the answer to go on by.
 *
 * Once the key has nothing left in the store, each process learns so from its next report, and has admitted no more than
 * what it had not reported: so the bound holds in any stretch of time.
 */
export class BatchTable extends FrontTable<StrictTable> {
  closing: Promise<unknown> | undefined;
  readonly #credit: Credit;
  readonly #counts: LayeredCounts;
  readonly #accounts = new Map<string, BatchAccount>();
  readonly #owing = new Set<BatchAccount>();
  /** Of what is sent: answers may overtake each other. */
  #orders = 0;
  #policies: readonly ParsedPolicy[] | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(table: StrictTable, credit: Credit, counts: LayeredCounts) {
    super(table);
    this.#credit = credit;
    this.#counts = counts;
  }

  override async decide(
    id: string,
    cost: number,
    plan: Plan,
    charge: boolean,
    now: number | undefined,
  ): Promise<Answer> {
    this.#counts.decisions += 1;
    const account = this.#accounts.get(heldKey(id));
    if (account === undefined) return this.#ask(id, cost, plan, charge, now);
    const most = charge && cost > 0 ? this.#credit.maxUnsynced : 0;
    for (let waited = 0; ; waited++) {
      const nowMs = now ?? performance.now();
      if (account.covers(cost, plan, most, nowMs)) {
        account.now = now;
        this.#owing.add(account);
        this.#schedule();
        return account.spend(cost, nowMs);
      }
      // Where reports fail, each request is to fail or not by itself.
      if (account.unsynced === 0 || account.failing || waited === MOST_WAITS) break;
      await (account.report ?? this.#report(account, now));
    }
    return this.#ask(id, cost, plan, charge, now);
  }

  /** After what is owed, so that what is corrected is there. */
  override async correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<ArrayLike<number>> {
    const account = this.#accounts.get(heldKey(id));
    await this.#synced(account, now);
    account?.doubt();
    return this.table.correct(id, units, plan, account?.booked(charges) ?? charges, now);
  }

  override async reset(id: string): Promise<void> {
    const key = heldKey(id);
    const account = this.#accounts.get(key);
    await account?.report;
    if (account !== undefined) this.#drop(key, account);
    return this.table.reset(id);
  }

  override update(policies: readonly ParsedPolicy[]): void {
    super.update(policies);
    this.#policies = policies;
    for (const account of this.#accounts.values()) account.doubt();
  }

  /** Reports what is owed. */
  override close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const reports = [...this.#owing].map((account) => this.#synced(account, account.now));
    this.closing = Promise.all(reports).then(() => super.close());
  }

  /** What is known of the key here may no longer be so. */
  forget(key: string): void {
    this.table.forget(key);
    this.#accounts.get(key)?.doubt();
  }

  async #ask(
    id: string,
    cost: number,
    plan: Plan,
    charge: boolean,
    now: number | undefined,
  ): Promise<Answer> {
    const order = ++this.#orders;
    const answer = await this.table.judge(id, cost, plan, charge, now);
    const key = heldKey(id);
    const account = this.#accounts.get(key);
    if (account !== undefined) account.failing = false;
    const admitted = plan.terms.every((_, i) => answer[i * ANSWER_WIDTH + 1] === 0);
    if (!admitted || !charge || cost === 0) return answer;
    this.#accountOf(id, key)?.learn(order, plan, answer, now, this.#credit.everyMs);
    return answer;
  }

  /** The account of a key; none of a long one, as it would be held whole, or if there are too many, all of which owe. */
  #accountOf(id: string, key: string): BatchAccount | undefined {
    const known = this.#accounts.get(key);
    if (known !== undefined || id.length > LONGEST_KEY) return known;
    if (this.#accounts.size >= MOST_KEYS) {
      const [[oldest, other]] = this.#accounts;
      if (other.unsynced > 0) return undefined;
      this.#drop(oldest, other);
    }
    const account = new BatchAccount(id);
    this.#accounts.set(key, account);
    return account;
  }

  #drop(key: string, account: BatchAccount): void {
    account.forgive();
    this.#accounts.delete(key);
    this.#owing.delete(account);
  }

  async #synced(account: BatchAccount | undefined, now: number | undefined): Promise<void> {
    if (account?.report !== undefined) await account.report;
    if (account !== undefined && account.spent > 0) await this.#report(account, now);
  }

  /** Never rejects. */
  #report(account: BatchAccount, now: number | undefined): Promise<void> {
    const report = this.#send(account, now).then((sent) => {
      // Another may be on its way by now.
      if (account.report === report) account.report = undefined;
      account.failing = !sent;
      if (account.spent === 0) this.#owing.delete(account);
      // Those that are asked for stay; those that are not become the oldest.
      const key = heldKey(account.id);
      if (this.#accounts.get(key) !== account) return;
      this.#accounts.delete(key);
      this.#accounts.set(key, account);
    });
    account.report = report;
    return report;
  }

  /**
   * Tells the store what was spent since the last report, first as much as still fits, then the rest as debt. Where nobody
   * knows whether that was done, it is owed again: it may count twice, but the bound holds. Returns whether it was done.
   */
  async #send(account: BatchAccount, now: number | undefined): Promise<boolean> {
    const order = ++this.#orders;
    const { id, plan: spentBy } = account;
    const plan = this.#policies === undefined ? spentBy : renewedPlan(spentBy, this.#policies, true);
    const { units, done } = account.send(now ?? performance.now());
    if (units === 0) return true;
    let owed = units;
    try {
      const each = plan.terms.map(() => units);
      const answer = await this.table.book(id, each, plan, now);
      const charges = plan.terms.map((_, i) => ({ at: answer[i * ANSWER_WIDTH + 3], level: 0 }));
      const debts = each.map((count, i) => answer[i * ANSWER_WIDTH + 4] - count);
      owed = Math.max(...debts.map((debt) => -debt));
      if (plan === spentBy) account.learn(order, plan, answer, now, this.#credit.everyMs);
      if (owed > 0) await this.table.rebook(id, debts, plan, charges, now);
      done(0, charges);
      return true;
    } catch {
      done(owed, undefined);
      return false;
    }
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#sweep();
    }, this.#credit.everyMs).unref();
  }

  /** Not with the request that finds out whether the store is back: it would wait for what is not its own. */
  #sweep(): void {
    if (this.gate === undefined || this.gate.serves) {
      for (const account of this.#owing) {
        if (account.report === undefined) void this.#report(account, account.now);
      }
    }
    if (this.#owing.size > 0) this.#schedule();
  }
}
