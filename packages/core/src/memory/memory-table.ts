/**
 * One limiter's keys in a {@link MemoryStore}: which there are, and which may be given up.
 *
 * @module
 */

import { DIGEST_LENGTH, digest, LONGEST_KEY } from '../key.js';
import type { Answer, Charge, ParsedPolicy, Plan, Table } from '../types.js';
import { refund, settle } from './corrections.js';
import { Judge } from './judge.js';
import { KeyIndex } from './key-index.js';
import { Ledger } from './ledger.js';
import { Slots } from './slots.js';

/** Of so many calls one looks at so many slots. */
const TIDY_EVERY = 16;

/** A table this small keeps what has expired: it takes no room worth having, and a clock that steps back finds it. */
const NOT_WORTH_TIDYING = 1024;

export class MemoryTable implements Table<false> {
  evicted: Table['evicted'] = undefined;
  readonly #shape: string;
  readonly #makeRoom: (now: number) => void;
  readonly #index = new KeyIndex();
  readonly #slots = new Slots();
  readonly #ledger: Ledger;
  readonly #judge: Judge;
  #calls = 0;

  /** @param makeRoom - called before a key is added. */
  constructor(policies: readonly ParsedPolicy[], makeRoom: (now: number) => void) {
    this.#shape = shapeOf(policies);
    this.#makeRoom = makeRoom;
    this.#ledger = new Ledger(policies);
    this.#judge = new Judge(this.#ledger, policies);
  }

  get size(): number {
    return this.#slots.size;
  }

  update(policies: readonly ParsedPolicy[]): void {
    this.adopt(policies);
  }

  /** Goes on with these policies if its state suits them; returns whether it does. */
  adopt(policies: readonly ParsedPolicy[]): boolean {
    const suits = shapeOf(policies) === this.#shape;
    if (suits) this.#ledger.adopt(policies);
    return suits;
  }

  /** @param deniedElsewhere - whether another table denies the request, so that it is charged here only if denials count. */
  decide(
    id: string,
    cost: number,
    plan: Plan,
    charge: boolean,
    given: number | undefined,
    deniedElsewhere = false,
  ): Answer {
    const now = given ?? Date.now();
    const key = shorten(id);
    const slot = this.#index.get(key);
    const admitted = this.#judge.decide(slot, cost, plan, charge, now, deniedElsewhere);
    if (charge) {
      if (slot > 0) {
        if (admitted) this.#slots.admitted(slot);
        else this.#slots.denied(slot);
      } else if (this.#judge.writes) this.#begin(key, admitted, plan, now);
    }
    this.#calls = (this.#calls + 1) % TIDY_EVERY;
    if (this.#calls === 0) this.#tidy(now, TIDY_EVERY);
    return this.#judge.answer(plan);
  }

  /** Whether a request would be admitted. */
  admits(id: string, cost: number, plan: Plan, now: number): boolean {
    return this.#judge.admits(this.#index.get(shorten(id)), cost, plan, now);
  }

  charge(id: string, units: readonly number[], plan: Plan, given: number | undefined): Answer {
    const now = given ?? Date.now();
    const key = shorten(id);
    const slot = this.#index.get(key);
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
    const slot = this.#index.get(key);
    if (units.some((count) => count < 0)) {
      const { lacking, writes } = settle(this.#ledger, slot, units, plan, charges, now);
      if (slot === 0 && writes) this.#begin(key, true, plan, now);
      return lacking;
    }
    if (slot > 0 && refund(this.#ledger, slot, units, plan, charges, now)) this.#drop(slot);
    return units.map(() => 0);
  }

  reset(id: string): void {
    const slot = this.#index.get(shorten(id));
    if (slot > 0) this.#drop(slot);
  }

  /** Nothing to let go of: what is stored stays until it expires. */
  close(): void {}

  /** Gives up a key that has expired, if one is near; returns whether one was. */
  giveUpExpired(now: number): boolean {
    return this.#giveUp(this.#slots.near((slot) => this.#ledger.isExpired(slot, now)));
  }

  /** Gives up the key that was not used for longest, of those that are not being denied; returns whether there was one. */
  giveUpAdmitted(): boolean {
    return this.#evict(this.#slots.oldestAdmitted(), false);
  }

  /** Gives up a key that is being denied; returns whether there was one. */
  giveUpDenied(): boolean {
    return this.#evict(this.#slots.oldestDenied(), true);
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
    this.#ledger.write(slot, plan);
    if (!admitted) this.#slots.denied(slot);
  }

  /** Gives up those that are expired of the next slots of a round over all. */
  #tidy(now: number, slots: number): void {
    if (this.#slots.size <= NOT_WORTH_TIDYING) return;
    for (let i = 0; i < slots; i++) {
      const slot = this.#slots.inTurn();
      if (slot > 0 && this.#ledger.isExpired(slot, now)) this.#drop(slot);
    }
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
    this.#index.delete(slot);
    this.#ledger.clear(slot);
    this.#slots.free(slot);
  }
}

/** The key as the table holds it. What could be taken for a digest, by its length and the `#` before it, is digested too. */
function shorten(id: string): string {
  return id.length > LONGEST_KEY || (id.length === DIGEST_LENGTH && id.charCodeAt(0) === 35)
    ? digest(id)
    : id;
}

/** What state looks like. The two buckets keep the same, here as in Redis. */
function shapeOf(policies: readonly ParsedPolicy[]): string {
  const kindOf = (algorithm: string) => (algorithm === 'leaky-bucket' ? 'token-bucket' : algorithm);
  return policies.map(({ name, algorithm, buckets }) => `${name}:${kindOf(algorithm)}:${buckets}`).join(' ');
}
