/**
 * One limiter's keys in a {@link MemoryStore}: which there are, and which may be given up.
 *
 * @module
 */

import { digest, LONGEST_KEY } from '../key.js';
import type { Answer, Charge, ParsedPolicy, Plan, Table } from '../types.js';
import { Column } from './column.js';
import { IndexMap } from './index-map.js';
import { Ledger } from './ledger.js';
import { Slots } from './slots.js';

/** A table this small is left as it is: tidying it gains nothing. */
const NOT_WORTH_TIDYING = 1024;

export class MemoryTable implements Table<false> {
  readonly #shape: string;
  readonly #makeRoom: (now: number) => void;
  readonly #index = new IndexMap();
  readonly #slots = new Slots();
  readonly #keys = new Column<string>();
  readonly #ledger: Ledger;
  #now = 0;

  /** @param makeRoom - called before a key is added. */
  constructor(policies: readonly ParsedPolicy[], makeRoom: (now: number) => void) {
    this.#shape = shapeOf(policies);
    this.#makeRoom = makeRoom;
    this.#ledger = new Ledger(policies);
  }

  get size(): number {
    return this.#slots.size;
  }

  /** Goes on with these policies if its state suits them; returns whether it does. */
  adopt(policies: readonly ParsedPolicy[]): boolean {
    const suits = shapeOf(policies) === this.#shape;
    if (suits) this.#ledger.adopt(policies);
    return suits;
  }

  decide(id: string, cost: number, plan: Plan, charge: boolean, given: number | undefined): Answer {
    const now = given ?? Date.now();
    const key = shorten(id);
    let slot = this.#index.get(key);
    const admitted = this.#ledger.judge(slot, cost, plan, charge, now);
    if (charge) {
      const writes = this.#ledger.writes(plan);
      const known = slot > 0;
      if (writes) {
        if (!known) slot = this.#add(key, now);
        this.#ledger.write(slot, plan);
      }
      if (slot > 0 && !admitted) this.#slots.denied(slot);
      else if (writes && known) this.#slots.admitted(slot);
    }
    if (this.size > NOT_WORTH_TIDYING) this.#tidy(now);
    return this.#ledger.answer(plan);
  }

  charge(id: string, units: readonly number[], plan: Plan, given: number | undefined): Answer {
    const now = given ?? Date.now();
    const key = shorten(id);
    const slot = this.#index.get(key);
    this.#ledger.judgeCharge(slot, units, plan, now);
    if (this.#ledger.writes(plan)) {
      this.#ledger.write(slot > 0 ? slot : this.#add(key, now), plan);
      if (slot > 0) this.#slots.admitted(slot);
    }
    return this.#ledger.answer(plan);
  }

  refund(id: string, units: number, plan: Plan, charges: readonly Charge[], given: number | undefined): void {
    const key = shorten(id);
    const slot = this.#index.get(key);
    if (slot > 0 && this.#ledger.refund(slot, units, plan, charges, given ?? Date.now()))
      this.#drop(key, slot);
  }

  reset(id: string): void {
    const key = shorten(id);
    const slot = this.#index.get(key);
    if (slot > 0) this.#drop(key, slot);
  }

  /** Nothing to let go of: what is stored stays until it expires. */
  close(): void {}

  /** Gives up a key that has expired, if one is near; returns whether one was. */
  giveUpExpired(now: number): boolean {
    this.#now = now;
    return this.#giveUp(this.#slots.expiredNear(this.#isExpired));
  }

  /** Gives up the key that was not used for longest, of those that are not being denied; returns whether there was one. */
  giveUpAdmitted(): boolean {
    return this.#giveUp(this.#slots.oldestAdmitted());
  }

  /** Gives up a key that is being denied; returns whether there was one. */
  giveUpDenied(): boolean {
    return this.#giveUp(this.#slots.oldestDenied());
  }

  #giveUp(slot: number): boolean {
    if (slot > 0) this.#drop(this.#keys.get(slot) as string, slot);
    return slot > 0;
  }

  readonly #isExpired = (slot: number): boolean => this.#ledger.isExpired(slot, this.#now);

  /** Gives up to three expired keys up. The round is faster than keys are added, so they cannot pile up. */
  #tidy(now: number): void {
    this.#now = now;
    this.#giveUp(this.#slots.expiredHead(this.#isExpired));
    this.#giveUp(this.#slots.expiredInTurn(this.#isExpired));
    this.#giveUp(this.#slots.expiredInTurn(this.#isExpired));
  }

  #add(key: string, now: number): number {
    this.#makeRoom(now);
    const slot = this.#slots.take();
    this.#ledger.reach(slot);
    this.#index.set(key, slot);
    this.#keys.set(slot, key);
    return slot;
  }

  #drop(key: string, slot: number): void {
    this.#index.delete(key);
    this.#keys.set(slot, undefined);
    this.#ledger.clear(slot);
    this.#slots.free(slot);
  }
}

/** The key as the table holds it. `#` begins a digest, so a key that begins with it is digested too. */
function shorten(id: string): string {
  return id.length > LONGEST_KEY || id.charCodeAt(0) === 35 ? digest(id) : id;
}

/** What state looks like. The two buckets keep the same, here as in Redis. */
function shapeOf(policies: readonly ParsedPolicy[]): string {
  const kindOf = (algorithm: string) => (algorithm === 'leaky-bucket' ? 'token-bucket' : algorithm);
  return policies.map(({ name, algorithm, buckets }) => `${name}:${kindOf(algorithm)}:${buckets}`).join(' ');
}
