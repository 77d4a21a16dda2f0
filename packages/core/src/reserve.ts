/**
 * Reserving on a table that may not be able to.
 *
 * @module
 */

import { ArgumentError } from './errors.js';
import type { Answer, Eventually, Table } from './types.js';

/** Asks a table as {@link Table.reserve} says. @throws ArgumentError if it has no such method. */
export function reserveOn<A extends boolean>(
  table: Table<A>,
  ...request: Parameters<NonNullable<Table<A>['reserve']>>
): Eventually<A, Answer> {
  if (table.reserve !== undefined) return table.reserve(...request);
  throw new ArgumentError(
    'ERR_SLUICE_RESERVE',
    'Expected the store to have tables with a method `reserve`, which `acquire` needs, got one without: a store of your own, or a LayeredStore in a mode other than "strict".',
  );
}
