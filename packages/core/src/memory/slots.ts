/**
 * The slots of a table: which are free, and in which order the others may be given up.
 *
 * Two queues, so that a flood of new keys never frees one that is being denied: keys whose last request was admitted,
 * and keys whose last request was denied. A key goes to the end of its queue when its state is written; so that this
 * costs one flag and no moving of links, it is only marked, and moved when it comes up at the head.
 *
 * @module
 */

import { Rows } from './column.js';

const OPEN = 1;
const DENIED = 2;
const MARKED = 4;

/** The most queue steps that one search for room takes: keeps every call's work constant. */
const STEPS = 16;

/** How many of each queue are looked at for one that has expired: a round over all finds those that stand further back. */
const NEAR = 4;

export class Slots {
  /** Per slot: the next and the previous in its queue. Slot 0 is no slot. */
  readonly #links = new Rows(2, (length) => new Int32Array(length));
  /** Per slot: its queue, with the mark; 0 if it is free. Apart and short, as it is all that most requests look at. */
  readonly #queues = new Rows(1, (length) => new Uint8Array(length));
  readonly #heads = [0, 0, 0];
  readonly #tails = [0, 0, 0];
  #free = 0;
  #made = 0;
  #size = 0;
  /** The slot that a round over all of them has come to. */
  #turn = 0;

  /** How many slots are in use. */
  get size(): number {
    return this.#size;
  }

  /** Returns a slot that is free now. It is in the queue of the admitted. */
  take(): number {
    let slot = this.#free;
    if (slot > 0) this.#free = this.#links.piece(slot)[this.#links.base(slot)];
    else {
      slot = ++this.#made;
      this.#links.reach(slot);
      this.#queues.reach(slot);
    }
    this.#size += 1;
    this.#append(slot, OPEN);
    return slot;
  }

  free(slot: number): void {
    this.#unlink(slot);
    const links = this.#links.piece(slot);
    links[this.#links.base(slot)] = this.#free;
    this.#queues.piece(slot)[this.#queues.base(slot)] = 0;
    this.#free = slot;
    this.#size -= 1;
  }

  /** The state of a slot that was in use before was written, and its request admitted. */
  admitted(slot: number): void {
    const queues = this.#queues.piece(slot);
    const place = this.#queues.base(slot);
    if ((queues[place] & OPEN) !== 0) queues[place] = OPEN | MARKED;
    else this.#move(slot, OPEN);
  }

  /** The slot's request was denied. */
  denied(slot: number): void {
    if ((this.#queueOf(slot) & DENIED) === 0) this.#move(slot, DENIED);
  }

  /** Returns a slot near the head of a queue that is `expired`, 0 if there is none. */
  near(expired: (slot: number) => boolean): number {
    for (const queue of [OPEN, DENIED]) {
      let slot = this.#heads[queue];
      for (let step = 0; step < NEAR && slot > 0; step++) {
        if (expired(slot)) return slot;
        slot = this.#links.piece(slot)[this.#links.base(slot)];
      }
    }
    return 0;
  }

  /** Returns the longest unwritten of the admitted, 0 if all are being denied. */
  oldestAdmitted(): number {
    for (let step = 0; step < STEPS; step++) {
      const slot = this.#heads[OPEN];
      if (slot === 0 || !this.#pass(slot)) break;
    }
    return this.#heads[OPEN];
  }

  /** Returns the slot that has been denied for longest, 0 if none is. Others come before one that is `spared`, mostly. */
  oldestDenied(spared: (slot: number) => boolean): number {
    for (let step = 0; step < STEPS; step++) {
      const slot = this.#heads[DENIED];
      if (slot === 0 || !spared(slot)) break;
      this.#move(slot, DENIED);
    }
    return this.#heads[DENIED];
  }

  /** Returns the next slot of a round over all of them, in use or not, 0 if there is none: finds those that expired behind others that live on. */
  inTurn(): number {
    this.#turn = this.#turn < this.#made ? this.#turn + 1 : Math.min(1, this.#made);
    return this.#turn;
  }

  /** Sends a marked slot to the end of its queue; returns whether it was marked. */
  #pass(slot: number): boolean {
    if ((this.#queueOf(slot) & MARKED) === 0) return false;
    this.#move(slot, OPEN);
    return true;
  }

  #queueOf(slot: number): number {
    return this.#queues.piece(slot)[this.#queues.base(slot)];
  }

  #move(slot: number, queue: number): void {
    this.#unlink(slot);
    this.#append(slot, queue);
  }

  #append(slot: number, queue: number): void {
    const links = this.#links.piece(slot);
    const base = this.#links.base(slot);
    const tail = this.#tails[queue];
    links[base] = 0;
    links[base + 1] = tail;
    this.#queues.piece(slot)[this.#queues.base(slot)] = queue;
    if (tail === 0) this.#heads[queue] = slot;
    else this.#links.piece(tail)[this.#links.base(tail)] = slot;
    this.#tails[queue] = slot;
  }

  #unlink(slot: number): void {
    const links = this.#links.piece(slot);
    const base = this.#links.base(slot);
    const next = links[base];
    const previous = links[base + 1];
    const queue = this.#queueOf(slot) & ~MARKED;
    if (previous === 0) this.#heads[queue] = next;
    else this.#links.piece(previous)[this.#links.base(previous)] = next;
    if (next === 0) this.#tails[queue] = previous;
    else this.#links.piece(next)[this.#links.base(next) + 1] = previous;
  }
}
