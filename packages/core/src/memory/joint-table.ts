/**
 * The keys of a limiter of several kinds of keys in a {@link MemoryStore}: a table for each kind, and one decision for all.
 *
 * @module
 */

import {
  ANSWER_WIDTH,
  type Answer,
  type Charge,
  type Kinds,
  type ParsedPolicy,
  type Plan,
  type Table,
} from '../types.js';
import type { MemoryTable } from './memory-table.js';

/** One kind's part of a plan. */
interface Part {
  readonly kind: number;
  readonly table: MemoryTable;
  /** The place of its first term among those of the whole plan. */
  readonly from: number;
  /** Places are those among the policies of the kind. */
  readonly plan: Plan;
}

export class JointTable implements Table<false> {
  readonly #kinds: Kinds;
  readonly #tables: readonly MemoryTable[];
  readonly #answer: Float64Array;
  readonly #parts = new WeakMap<Plan, readonly Part[]>();
  #evicted: Table['evicted'];

  /** @param tables - one per kind. */
  constructor(kinds: Kinds, tables: readonly MemoryTable[]) {
    this.#kinds = kinds;
    this.#tables = tables;
    this.#answer = new Float64Array(kinds.places.length * ANSWER_WIDTH);
  }

  get evicted(): Table['evicted'] {
    return this.#evicted;
  }

  set evicted(listener: Table['evicted']) {
    this.#evicted = listener;
    this.#tables.forEach((table, kind) => {
      table.evicted =
        listener && ((key, denied) => listener(this.#kinds.join(this.#onlyOf(kind, key)), denied));
    });
  }

  /** All are asked before any is charged. Those that deny come first: what the others write could push them out. */
  decide(id: string, cost: number, plan: Plan, charge: boolean, given: number | undefined): Answer {
    const now = given ?? Date.now();
    const keys = this.#kinds.split(id);
    const parts = this.#partsOf(plan);
    const fits = parts.map(({ kind, table, plan: own }) =>
      table.admits(keys[kind] as string, cost, own, now),
    );
    const blocked = parts.some(({ kind, table, plan: own }) =>
      table.isBlocked(keys[kind] as string, own, now),
    );
    const denied = blocked || fits.includes(false);
    for (const fit of denied ? [false, true] : [true]) {
      parts.forEach(({ kind, table, from, plan: own }, i) => {
        if (fits[i] !== fit) return;
        const answer = table.decide(keys[kind] as string, cost, own, charge, now, denied, blocked);
        this.#note(answer, from, own);
      });
    }
    return this.#answer;
  }

  charge(id: string, units: readonly number[], plan: Plan, given: number | undefined): Answer {
    const now = given ?? Date.now();
    const keys = this.#kinds.split(id);
    for (const { kind, table, from, plan: own } of this.#partsOf(plan)) {
      const each = units.slice(from, from + own.terms.length);
      this.#note(table.charge(keys[kind] as string, each, own, now), from, own);
    }
    return this.#answer;
  }

  correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    given: number | undefined,
  ): readonly number[] {
    const now = given ?? Date.now();
    const keys = this.#kinds.split(id);
    return this.#partsOf(plan).flatMap(({ kind, table, from, plan: own }) => {
      const to = from + own.terms.length;
      return table.correct(keys[kind] as string, units.slice(from, to), own, charges.slice(from, to), now);
    });
  }

  reset(id: string): void {
    this.#kinds.split(id).forEach((key, kind) => {
      if (key !== null) this.#tables[kind].reset(key);
    });
  }

  block(id: string, durationMs: number, plan: Plan, given: number | undefined): void {
    const now = given ?? Date.now();
    this.#kinds.split(id).forEach((key, kind) => {
      if (key !== null) this.#tables[kind].block(key, durationMs, plan, now);
    });
  }

  unblock(id: string): void {
    this.#kinds.split(id).forEach((key, kind) => {
      if (key !== null) this.#tables[kind].unblock(key);
    });
  }

  update(policies: readonly ParsedPolicy[]): void {
    this.#tables.forEach((table, kind) => {
      table.update(policies.filter((_, place) => this.#kinds.places[place] === kind));
    });
  }

  close(): void {
    for (const table of this.#tables) table.close();
  }

  #note(answer: Answer, from: number, { terms }: Plan): void {
    for (let i = 0; i < terms.length * ANSWER_WIDTH; i++) this.#answer[from * ANSWER_WIDTH + i] = answer[i];
  }

  #onlyOf(kind: number, key: string): readonly (string | null)[] {
    return this.#tables.map((_, i) => (i === kind ? key : null));
  }

  #partsOf(plan: Plan): readonly Part[] {
    const known = this.#parts.get(plan);
    if (known !== undefined) return known;
    const { places } = this.#kinds;
    const parts = this.#tables.flatMap((table, kind): Part[] => {
      const from = plan.places.findIndex((place) => places[place] === kind);
      if (from === -1) return [];
      const to = from + plan.places.filter((place) => places[place] === kind).length;
      const first = places.indexOf(kind);
      const own = plan.places.slice(from, to).map((place) => place - first);
      return [{ kind, table, from, plan: { terms: plan.terms.slice(from, to), places: own } }];
    });
    this.#parts.set(plan, parts);
    return parts;
  }
}
