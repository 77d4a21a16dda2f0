/**
 * Where requests are held until it is their turn: a leaky bucket's queue, as HTTP has it.
 *
 * @module
 */

import { parseLimit } from '../policy.js';
import { after } from '../sleep.js';
import { isOver, type Line, whenOver } from './ending.js';

/** Each takes a connection, and what the request is in memory: some ten MB of them, and as many as small hosts allow. */
const MOST_HELD = 1000;

/** How holding a request ended: its turn came, or its client left before. */
export type Held = 'turn' | 'gone';

/** Holds so many requests at once, and no more. */
export class Queue {
  readonly #most: number;
  #held = 0;

  /** @throws ArgumentError if `maxHeld` is neither left out nor a number of requests. */
  constructor(maxHeld: unknown) {
    this.#most = maxHeld === undefined ? MOST_HELD : parseLimit(maxHeld, 'maxHeld', 'ERR_SLUICE_OPTION');
  }

  /**
   * Holds a request for `ms`, but no longer than its client waits; returns nothing if there is no room for it.
   *
   * The timer keeps the process alive, as the connection does that it is for; with the connection, it goes.
   */
  hold(response: Line | undefined, ms: number): Promise<Held> | undefined {
    if (this.#held >= this.#most) return undefined;
    this.#held += 1;
    return new Promise((resolve) => {
      const end = (how: Held) => {
        this.#held -= 1;
        resolve(how);
      };
      let stopWatching = () => {};
      const stopTimer = after(ms, () => {
        stopWatching();
        end(response !== undefined && isOver(response) ? 'gone' : 'turn');
      });
      if (response === undefined) return;
      stopWatching = whenOver(response, () => {
        stopTimer();
        end('gone');
      });
    });
  }
}
