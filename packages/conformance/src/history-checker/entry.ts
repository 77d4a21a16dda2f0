/**
 * A history: what several processes did to one key, in the order in which the server did it.
 *
 * @module
 */

import type { Decision, Policy } from '@sluice/core';

/** What was asked. */
export type Call =
  | {
      readonly do: 'consume' | 'peek';
      readonly cost: number;
      readonly limit?: Readonly<Record<string, number>>;
    }
  /** Of the entry at that place; all that is left of it if `units` is undefined. */
  | { readonly do: 'refund'; readonly of: number; readonly units?: number }
  /** Of the entry at that place, to what it cost in all. */
  | { readonly do: 'settle'; readonly of: number; readonly units: number }
  | { readonly do: 'reset' }
  /** The server did not know the script, so nothing ran. */
  | { readonly do: 'nothing' };

/** One call, and its place among all others. */
export interface Entry {
  /** From 1, without holes: the server counts every transaction of the key. */
  readonly place: number;
  /** The lane that sent it, which waits for each reply before it sends the next call. */
  readonly lane: string;
  /** The server's clock right before and right after, in whole ms. */
  readonly from: number;
  readonly to: number;
  /** The instant that the script says it decided at; `undefined` where it says none. */
  readonly at: number | undefined;
  readonly call: Call;
  /** The answer to a `consume` or a `peek`. */
  readonly decision?: Decision;
}

/** All that was done to one key. */
export interface History {
  readonly policies: readonly Policy[];
  readonly entries: readonly Entry[];
}
