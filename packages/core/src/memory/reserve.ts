/**
 * Reservations: a request is charged now at the first instant at which all its policies admit it.
 *
 * @module
 */

import type { Plan } from '../types.js';
import type { MemoryTable } from './memory-table.js';

/** One table's part of a request. */
export interface Reserved {
  readonly table: MemoryTable;
  readonly key: string;
  readonly plan: Plan;
}

/**
 * Charges all parts at the first instant at which all admit, which is not before what was reserved earlier; returns
 * whether that is soon enough. Else nothing is changed. Who is blocked gets no place.
 */
export function reserve(parts: readonly Reserved[], cost: number, mostWaitMs: number, now: number): boolean {
  if (parts.some(({ table, key, plan }) => table.isBlocked(key, plan, now))) return false;
  let time = Math.max(...parts.map(({ table, key, plan }) => table.openFrom(key, plan, now)));
  const fits = (again: boolean) =>
    Math.max(...parts.map(({ table, key, plan }) => table.fitsFrom(key, cost, plan, time, again)));
  let first = fits(false);
  if (first > time && first <= now + mostWaitMs) {
    time = first;
    first = fits(true);
  }
  const held = Math.max(...parts.map(({ table, plan }) => table.held(plan)));
  if (first !== time || time + held > now + mostWaitMs) return false;
  for (const { table, key, plan } of parts) table.book(key, plan, time - now, now);
  return true;
}
