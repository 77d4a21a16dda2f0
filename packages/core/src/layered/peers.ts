/**
 * What other processes have said of what they admitted.
 *
 * @module
 */

import type { Count, Counts } from './message.js';

/** A process that says nothing for so long is forgotten. */
const SILENT_MS = 60_000;

/** As many processes as are known at once; and of each, as many keys. */
const MOST_PEERS = 1000;
const MOST_KEYS = 100_000;

interface Peer {
  /** The number of its last message. */
  number: number;
  heardMs: number;
  /** Whether it was heard from its first message on: then its totals are of what was heard. */
  readonly whole: boolean;
  /** The units by key that were counted in. */
  readonly totals: Map<string, number>;
}

export class Peers {
  readonly #peers = new Map<string, Peer>();

  /** How many processes have been heard of lately. */
  get size(): number {
    return this.#peers.size;
  }

  /** Returns what is new in a message, and how long ago the process was heard before; nothing if it is an old one. */
  hear({ from, number, counts }: Counts, nowMs: number): { news: readonly Count[]; silentMs: number } {
    const known = this.#peers.get(from);
    if (known !== undefined && number <= known.number) return { news: [], silentMs: 0 };
    const peer = known ?? { number, heardMs: nowMs, whole: number === 0, totals: new Map() };
    const silentMs = nowMs - peer.heardMs;
    const missed = known !== undefined && number > known.number + 1;
    peer.number = number;
    peer.heardMs = nowMs;
    // As the newest of all.
    this.#peers.delete(from);
    this.#peers.set(from, peer);
    this.#forget(nowMs);
    const news = counts.map((count) => ({ ...count, news: newsOf(peer, count) }));
    return { news, silentMs: missed ? silentMs : 0 };
  }

  #forget(nowMs: number): void {
    for (const [from, { heardMs }] of this.#peers) {
      if (nowMs - heardMs < SILENT_MS && this.#peers.size <= MOST_PEERS) break;
      this.#peers.delete(from);
    }
  }
}

/** The units that were not counted in yet: also those of messages that got lost. */
function newsOf({ totals, whole }: Peer, { key, total, news }: Count): number {
  if (total === null) {
    totals.delete(key);
    return 0;
  }
  const known = totals.get(key);
  totals.delete(key);
  totals.set(key, total);
  if (totals.size > MOST_KEYS) totals.delete(totals.keys().next().value as string);
  if (known === undefined) return whole ? total : news;
  // A process that has forgotten a key counts it from 0 again.
  return Math.max(total - known, news);
}
