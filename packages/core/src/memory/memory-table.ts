/**
 * One limiter's keys in a {@link MemoryStore}: which there are, and which may be given up.
 *
 * @module
 */

import { MOST } from '../algorithms/exact.js';
import { DIGEST_LENGTH, digest, LONGEST_KEY } from '../key.js';
import type { Answer, Charge, ParsedPolicy, Plan, Table } from '../types.js';
import { judgeBlocked, strikeBy } from './blocked.js';
import { Blocks } from './blocks.js';
import { refund, settle } from './corrections.js';
import { Judge } from './judge.js';
import { KeyIndex } from './key-index.js';
import { kindsOf, Ledger, shapeOf } from './ledger.js';
import { reserve } from './reserve.js';
import { Slots } from './slots.js';

/** Of so many calls one looks at so many slots. */
const TIDY_EVERY = 16;

/** At so many while keys come over to another ledger, so that it is done four times as soon. */
const HASTE = 64;

/** A table this small keeps what has expired: it takes no room worth having, and a clock that steps back finds it. */
const NOT_WORTH_TIDYING = 1024;

export class MemoryTable implements Table<false> {
  evicted: Table['evicted'] = undefined;
  readonly #kinds: string;
  readonly #makeRoom: (now: number) => void;
  readonly #index = new KeyIndex();
  readonly #slots = new Slots();
  #ledger: Ledger;
  /** Those of other shapes in which some keys still are: each comes over when it is asked for, the others a few per call. */
  #former: readonly Ledger[] = [];
  #judge: Judge;
  /** Absent while nothing is to be known of blocks. */
  #blocks: Blocks | undefined;
  /** Whether any policy blocks. */
  #blocking = false;
  #calls = 0;

  /** @param makeRoom - called before a key is added. */
  constructor(policies: readonly ParsedPolicy[], makeRoom: (now: number) => void) {
    this.#kinds = kindsOf(policies);
    this.#makeRoom = makeRoom;
    this.#ledger = new Ledger(policies);
    this.#judge = new Judge(this.#ledger, policies);
    this.#blockBy(policies);
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Goes on with these policies if what they keep is of the same kinds; returns whether it is. */
  adopt(policies: readonly ParsedPolicy[]): boolean {
    const suits = kindsOf(policies) === this.#kinds;
    if (suits) this.update(policies);
    return suits;
  }

  update(policies: readonly ParsedPolicy[]): void {
    if (shapeOf(policies) !== this.#ledger.shape) this.#change(policies);
    this.#ledger.adopt(policies);
    this.#blockBy(policies);
  }

  /**
   * @param deniedElsewhere - whether another table denies the request, so that it is charged here only if denials count.
   * @param blockedElsewhere - whether the key is blocked in another table, so that the request changes nothing.
   */
  decide(
    id: string,
    cost: number,
    plan: Plan,
    charge: boolean,
    given: number | undefined,
    deniedElsewhere = false,
    blockedElsewhere = false,
  ): Answer {
    const now = given ?? Date.now();
    const key = shorten(id);
    const slot = this.#find(key);
    const blocks = this.#blocks;
    const blocked = blockedElsewhere || blocks?.isBlocked(slot, plan, now) === true;
    if (blocked && charge) blocks?.rebase(slot, plan, now);
    const admitted = blocked
      ? judgeBlocked(this.#ledger, blocks, slot, cost, plan, now)
      : this.#judge.decide(slot, cost, plan, charge, now, deniedElsewhere);
    if (charge) {
      if (slot > 0) {
        if (admitted) this.#slots.admitted(slot);
        else this.#slots.denied(slot);
        if (!blocked && blocks !== undefined) this.#strike(blocks, slot, cost, plan, now);
      } else if (!blocked && this.#judge.writes) this.#begin(key, admitted, plan, now);
    }
    this.#calls = (this.#calls + 1) % TIDY_EVERY;
    if (this.#calls === 0) this.#tidy(now, this.#former.length > 0 ? HASTE : TIDY_EVERY);
    return this.#judge.answer(plan);
  }

  /** Whether a request would be admitted. */
  admits(id: string, cost: number, plan: Plan, now: number): boolean {
    return this.#judge.admits(this.#find(shorten(id)), cost, plan, now);
  }

  /** Whether the key is blocked in a policy of the plan. */
  isBlocked(id: string, plan: Plan, now: number): boolean {
    return this.#blocks?.isBlocked(this.#index.get(shorten(id)), plan, now) === true;
  }

  reserve(id: string, cost: number, plan: Plan, mostWaitMs: number, given: number | undefined): Answer {
    const now = given ?? Date.now();
    if (!reserve([{ table: this, key: id, plan }], cost, mostWaitMs, now))
      return this.decide(id, cost, plan, false, now);
    return this.answer(plan);
  }

  /** As {@link Judge.openFrom} says. */
  openFrom(id: string, plan: Plan, now: number): number {
    return this.#judge.openFrom(this.#find(shorten(id)), plan, now);
  }

  /** As {@link Judge.fitsFrom} says. */
  fitsFrom(id: string, cost: number, plan: Plan, at: number, again: boolean): number {
    return this.#judge.fitsFrom(this.#index.get(shorten(id)), cost, plan, at, again);
  }

  /** As {@link Judge.held} says. */
  held(plan: Plan): number {
    return this.#judge.held(plan);
  }

  /** What the request that was judged last is told. */
  answer(plan: Plan): Answer {
    return this.#judge.answer(plan);
  }

  /** Charges what was judged last, `wait` ms after now. */
  book(id: string, plan: Plan, wait: number, now: number): void {
    const key = shorten(id);
    const found = this.#index.get(key);
    const slot = found > 0 ? found : this.#add(key, now);
    this.#ledger.write(slot, plan, now);
    this.#judge.stand(slot, plan, wait);
    // Whoever waits must not lose the place to new keys.
    if (wait === 0) this.#slots.admitted(slot);
    else this.#slots.denied(slot);
  }

  charge(id: string, units: readonly number[], plan: Plan, given: number | undefined): Answer {
    const now = given ?? Date.now();
    const key = shorten(id);
    const slot = this.#find(key);
    this.#judge.charge(slot, units, plan, now);
    if (this.#judge.writes) {
      if (slot > 0) this.#slots.admitted(slot);
      else this.#begin(key, true, plan, now);
    }
    return this.#judge.answer(plan);
  }

  correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    given: number | undefined,
  ): readonly number[] {
    const now = given ?? Date.now();
    const key = shorten(id);
    const slot = this.#find(key);
    if (units.some((count) => count < 0)) {
      const { lacking, writes } = settle(this.#ledger, slot, units, plan, charges, now);
      if (slot === 0 && writes) this.#begin(key, true, plan, now);
      return lacking;
    }
    const blank = slot > 0 && refund(this.#ledger, slot, units, plan, charges, now);
    if (blank && this.#blocks?.has(slot) !== true) this.#drop(slot);
    return units.map(() => 0);
  }

  reset(id: string): void {
    const slot = this.#find(shorten(id));
    if (slot > 0) this.#drop(slot);
  }

  block(id: string, durationMs: number, _plan: Plan, given: number | undefined): void {
    const now = given ?? Date.now();
    const key = shorten(id);
    const slot = this.#find(key) || this.#add(key, now);
    this.#blocks ??= new Blocks(this.#ledger.sections.length);
    this.#blocks.block(slot, now, Math.min(durationMs, MOST));
    this.#slots.denied(slot);
  }

  unblock(id: string): void {
    this.#blocks?.delete(this.#index.get(shorten(id)));
    this.#spareBlocks();
  }

  /** Nothing to let go of: what is stored stays until it expires. */
  close(): void {}

  /** Gives up a key that has expired, if one is near; returns whether one was. */
  giveUpExpired(now: number): boolean {
    return this.#giveUp(this.#slots.near((slot) => this.#isExpired(slot, now)));
  }

  /** Gives up the key that was not used for longest, of those that are not being denied; returns whether there was one. */
  giveUpAdmitted(): boolean {
    return this.#evict(this.#slots.oldestAdmitted(), false);
  }

  /** Gives up a key that is being denied, rather than one that is blocked, or that somebody waits for; returns whether there was one. */
  giveUpDenied(now: number): boolean {
    const spared = (slot: number) =>
      this.#blocks?.holds(slot, now) === true || this.#ledger.ahead.isAhead(slot, now);
    return this.#evict(this.#slots.oldestDenied(spared), true);
  }

  #evict(slot: number, denied: boolean): boolean {
    if (slot > 0) this.evicted?.(this.#index.keyOf(slot), denied);
    return this.#giveUp(slot);
  }

  #giveUp(slot: number): boolean {
    if (slot > 0) this.#drop(slot);
    return slot > 0;
  }

  /** Stores what the request of a new key that was judged last changes. */
  #begin(key: string, admitted: boolean, plan: Plan, now: number): void {
    const slot = this.#add(key, now);
    this.#ledger.write(slot, plan, now);
    if (!admitted) this.#slots.denied(slot);
  }

  /** Gives up those that are expired of the next slots of a round over all. */
  #tidy(now: number, slots: number): void {
    const worth = this.#slots.size > NOT_WORTH_TIDYING;
    if (!worth && this.#former.length === 0) return;
    for (let i = 0; i < slots; i++) {
      const slot = this.#slots.inTurn();
      if (slot > 0 && this.#isExpired(slot, now) && worth) this.#drop(slot);
    }
  }

  /** Goes on in a ledger of another shape: that of before, if it has one still, so that there are few even if two take turns. */
  #change(policies: readonly ParsedPolicy[]): void {
    const shape = shapeOf(policies);
    const all = [...this.#former, this.#ledger];
    this.#ledger = this.#former.find((ledger) => ledger.shape === shape) ?? new Ledger(policies);
    this.#former = all.filter((ledger) => ledger !== this.#ledger && ledger.size > 0);
    this.#judge = new Judge(this.#ledger, policies);
  }

  /** The slot of a key, 0 if it has none, with its state in the ledger of now. */
  #find(key: string): number {
    const slot = this.#index.get(key);
    if (this.#former.length > 0) this.#bring(slot);
    return slot;
  }

  #isExpired(slot: number, now: number): boolean {
    if (this.#former.length > 0) this.#bring(slot);
    return this.#ledger.isExpired(slot, now) && this.#blocks?.holds(slot, now) !== true;
  }

  /** Brings a slot's state over, if it is still in another ledger. */
  #bring(slot: number): void {
    const from = this.#former.find((ledger) => ledger.has(slot));
    if (from === undefined) return;
    this.#ledger.take(slot, from);
    if (from.size === 0) this.#former = this.#former.filter((ledger) => ledger !== from);
  }

  #add(key: string, now: number): number {
    // With this the round is faster than slots are added, and what is expired cannot pile up behind it.
    this.#tidy(now, 2);
    this.#makeRoom(now);
    const slot = this.#slots.take();
    this.#ledger.begin(slot);
    this.#index.add(key, slot);
    return slot;
  }

  #drop(slot: number): void {
    if (this.#former.length > 0) this.#bring(slot);
    this.#index.delete(slot);
    this.#ledger.clear(slot);
    this.#slots.free(slot);
    this.#blocks?.delete(slot);
  }

  #strike(blocks: Blocks, slot: number, cost: number, plan: Plan, now: number): void {
    strikeBy(this.#ledger, blocks, slot, cost, plan, now);
    this.#spareBlocks();
  }

  #blockBy(policies: readonly ParsedPolicy[]): void {
    this.#blocking = policies.some(({ block }) => block !== undefined);
    if (this.#blocking) this.#blocks ??= new Blocks(policies.length);
  }

  /** Most tables know nothing of blocks, and need not look. */
  #spareBlocks(): void {
    if (!this.#blocking && this.#blocks?.size === 0) this.#blocks = undefined;
  }
}

/** The key as the table holds it. What could be taken for a digest, by its length and the `#` before it, is digested too. */
function shorten(id: string): string {
  return id.length > LONGEST_KEY || (id.length === DIGEST_LENGTH && id.charCodeAt(0) === 35)
    ? digest(id)
    : id;
}
