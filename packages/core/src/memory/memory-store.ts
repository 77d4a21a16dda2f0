/**
 * State in this process.
 *
 * @module
 */

import { checkObject, refuseUnknown } from '../check.js';
import { expected } from '../errors.js';
import type { Kinds, ParsedPolicy, Store, Table } from '../types.js';
import { JointTable } from './joint-table.js';
import { MemoryTable } from './memory-table.js';

/** What a {@link MemoryStore} can be told. */
export interface MemoryStoreOptions {
  /** The most keys it holds, over all its limiters. Default 1,000,000. */
  readonly maxKeys?: number | undefined;
}

/**
 * Keeps state in typed arrays of this process, and answers at once.
 *
 * It sets no timer: expired keys are given up a few per call. When it is full it gives up an expired key if one is
 * near, then those that were not used for longest, and one that is being denied only when all are; each in constant time.
 *
 * @example
 * import { createLimiter, MemoryStore } from '@sluice/core';
 * const store = new MemoryStore({ maxKeys: 100_000 });
 * const limiter = createLimiter({ policies: [{ limit: 100, window: '1m' }], store });
 * limiter.consume('user:42').remaining; // 99
 */
export class MemoryStore implements Store<false> {
  /** It answers at once. */
  readonly async = false;
  /** A key of each kind counts as one. */
  readonly takesKinds = true;
  readonly #maxKeys: number;
  readonly #tables = new Map<string, MemoryTable>();
  #evictions = 0;

  /** @throws ArgumentError if `maxKeys` is not an integer of at least 1. */
  constructor(options: MemoryStoreOptions = {}) {
    checkObject(options, 'options', 'an object', 'ERR_SLUICE_OPTION');
    refuseUnknown(options, ['maxKeys'], 'MemoryStore', 'ERR_SLUICE_OPTION');
    const { maxKeys = 1_000_000 } = options;
    if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > 2 ** 30) {
      throw expected('ERR_SLUICE_OPTION', 'maxKeys', 'an integer from 1 to 2^30', maxKeys);
    }
    this.#maxKeys = maxKeys;
  }

  /** How many keys it holds now, expired ones that were not given up yet included. */
  get size(): number {
    let size = 0;
    for (const table of this.#tables.values()) size += table.size;
    return size;
  }

  /** How many keys were given up before they expired, because it was full. */
  get evictions(): number {
    return this.#evictions;
  }

  /** Opens a limiter's table. What a closed limiter of the same name left is taken over if its policies kept the same. */
  open(name: string, policies: readonly ParsedPolicy[], kinds?: Kinds): Table<false> {
    if (kinds === undefined) return this.#open(name, policies);
    const tables = kinds.names.map((kind, i) =>
      // No name has a colon.
      this.#open(
        `${name}:${kind}`,
        policies.filter((_, place) => kinds.places[place] === i),
      ),
    );
    return new JointTable(kinds, tables);
  }

  #open(name: string, policies: readonly ParsedPolicy[]): MemoryTable {
    const left = this.#tables.get(name);
    if (left?.adopt(policies)) return left;
    const table = new MemoryTable(policies, (now) => this.#makeRoom(table, now));
    this.#tables.set(name, table);
    return table;
  }

  /** Gives up one key if the store is full, of the table that grows before all others: expired, admitted, denied. */
  #makeRoom(growing: MemoryTable, now: number): void {
    if (this.#tables.size === 1) {
      // Most stores have one: no lists for it. The order is that of several, below.
      if (growing.size < this.#maxKeys || growing.giveUpExpired(now)) return;
      this.#evictions += 1;
      if (!growing.giveUpAdmitted()) growing.giveUpDenied(now);
      return;
    }
    if (this.size < this.#maxKeys) return;
    const others = [...this.#tables.values()].filter((table) => table !== growing);
    const tables = [growing, ...others.sort((a, b) => b.size - a.size)];
    if (tables.some((table) => table.giveUpExpired(now))) return;
    this.#evictions += 1;
    if (!tables.some((table) => table.giveUpAdmitted())) tables.some((table) => table.giveUpDenied(now));
  }
}
