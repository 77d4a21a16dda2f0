/**
 * Which policies block, and which stores can.
 *
 * @module
 */

import { ArgumentError } from './errors.js';
import type { ParsedPolicy, Table } from './types.js';

/** Whether a policy blocks. */
export function blocks(policies: readonly ParsedPolicy[]): boolean {
  return policies.some(({ block }) => block !== undefined);
}

/** A table of a store that knows blocks. */
type BlockingTable<A extends boolean> = {
  [Name in 'block' | 'unblock']: NonNullable<Table<A>[Name]>;
};

/**
 * Returns the table.
 *
 * @throws ArgumentError unless it is of a store that knows blocks.
 */
export function blockingOf<A extends boolean>(table: Table<A>): BlockingTable<A> {
  if (table.block === undefined || table.unblock === undefined) {
    const message =
      'Expected `store` to know blocks, for `block`, got one whose tables have no `block` and `unblock`: a store of your own, or a LayeredStore in a mode other than "strict".';
    throw new ArgumentError('ERR_SLUICE_OPTION', message);
  }
  return table as BlockingTable<A>;
}
