/**
 * Whether a history is one that the algorithms in TypeScript could have produced.
 *
 * The server says in which order and when it decided, so there is a single candidate: no search is needed, and a
 * history of any length is checked in one pass. What a lane
 * saw must agree with that order as well, which makes the history linearizable (Herlihy and Wing, 1990), lane by lane.
 *
 * @module
 */

import { createLimiter, type Decision, type Limiter, manualClock } from '@sluice/core';
import { firstDifference } from '../parity/compare.js';
import type { Call, Entry, History } from './entry.js';

/** The first entry that could not have been, and why. */
export interface Refusal {
  readonly entry: Entry;
  readonly reason: string;
  /** What the algorithm decides there. */
  readonly expected?: Decision;
}

/** Returns the first thing that is wrong with the history, or `undefined` if it could have been. */
export function check({ policies, entries }: History): Refusal | undefined {
  const clock = manualClock();
  const limiter = createLimiter({ policies, clock });
  const decisions = new Map<number, Decision>();
  const ordered = [...entries].sort((a, b) => a.place - b.place);
  for (const [i, entry] of ordered.entries()) {
    const wrong = misplaced(entry, i + 1) ?? mistimed(entry);
    if (wrong !== undefined) return { entry, reason: wrong };
    clock.set(entry.at ?? entry.from);
    const expected = act(limiter, entry.call, decisions);
    if (expected !== undefined) decisions.set(entry.place, expected);
    const field = firstDifference(entry.decision, expected);
    if (field === undefined) continue;
    const reason = `${field || 'the decision'} is not what the algorithm says`;
    return expected === undefined ? { entry, reason } : { entry, reason, expected };
  }
  return outOfLine(entries);
}

function misplaced({ place }: Entry, expected: number): string | undefined {
  if (place < expected) return `two entries are at place ${place}`;
  if (place > expected)
    return `place ${expected} is missing: the server did something that no lane was told of`;
  return undefined;
}

function mistimed({ at, from, to }: Entry): string | undefined {
  if (at === undefined || (from <= at && at <= to)) return undefined;
  return `it was decided at ${at}, and the server's clock showed ${from} to ${to}`;
}

/** What a lane did later, the server must have done later. */
function outOfLine(entries: readonly Entry[]): Refusal | undefined {
  const last = new Map<string, number>();
  for (const entry of entries) {
    if (entry.place <= (last.get(entry.lane) ?? 0)) {
      return { entry, reason: `the server did it before what lane ${entry.lane} had done before` };
    }
    last.set(entry.lane, entry.place);
  }
  return undefined;
}

function act(
  limiter: Limiter<false>,
  call: Call,
  decisions: ReadonlyMap<number, Decision>,
): Decision | undefined {
  if (call.do === 'nothing') return undefined;
  if (call.do === 'reset') limiter.reset('key');
  else if (call.do === 'refund') limiter.refund(decisions.get(call.of) as Decision, call.units);
  else if (call.do === 'settle') limiter.settle(decisions.get(call.of) as Decision, call.units);
  else return limiter[call.do]('key', optionsOf(call));
  return undefined;
}

/** What the call asks a limiter for. */
export function optionsOf({ cost, limit }: Extract<Call, { cost: number }>): {
  cost: number;
  limit?: Readonly<Record<string, number>>;
} {
  return limit === undefined ? { cost } : { cost, limit };
}
