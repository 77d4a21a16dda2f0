/**
 * Reservations without the waiting: what is told to wait is noted, and goes on at once.
 *
 * @module
 */

import type { Answer, Eventually, Plan, Store, Table } from '@sluice/core';

/** How many numbers of an answer belong to one policy; the last is the delay. */
const WIDTH = 5;

/** What a table said to a reservation. */
export interface ToldToWait {
  readonly answer: readonly number[];
  /** How long it waits for its place; nothing if it has none. */
  readonly wait: number | undefined;
}

/** Reads what a table said to a request that waits for at most so long. */
function toldToWait(said: Answer, { terms }: Plan, mostWaitMs: number): ToldToWait {
  // A row in memory is longer.
  const answer = Array.from(said).slice(0, WIDTH * terms.length);
  const wait = Math.max(...answer.filter((_, i) => i % WIDTH === WIDTH - 1));
  const fits = answer.every((number, i) => i % WIDTH !== 1 || number === 0);
  return { answer, wait: fits && wait <= mostWaitMs ? wait : undefined };
}

/** Reserves on a table, tells `note` what that said, and lets nobody wait. */
export function reserveUnhurried<A extends boolean>(
  table: Table<A>,
  request: Parameters<NonNullable<Table<A>['reserve']>>,
  note: (told: ToldToWait) => void,
): Eventually<A, Answer> {
  const read = (said: Answer): Answer => {
    const told = toldToWait(said, request[2], request[3]);
    note(told);
    if (told.wait === undefined) return told.answer;
    return told.answer.map((number, i) => (i % WIDTH === WIDTH - 1 ? 0 : number));
  };
  const said = table.reserve?.(...request);
  return (said instanceof Promise ? said.then(read) : read(said as Answer)) as Eventually<A, Answer>;
}

/** Returns the store, but that nobody waits: each reservation is told to `note`. */
export function unhurried(store: Store, note: (told: ToldToWait) => void): Store {
  return {
    async: store.async,
    takesKinds: store.takesKinds ?? false,
    open(...args) {
      const table = store.open(...args);
      return {
        decide: (...request) => table.decide(...request),
        reserve: (...request) => reserveUnhurried(table, request, note),
        charge: (...request) => table.charge(...request),
        correct: (...request) => table.correct(...request),
        reset: (id) => table.reset(id),
        update: (policies) => table.update?.(policies),
        close: () => table.close(),
      };
    },
  };
}
