/**
 * What other processes have said of what they admitted.
 *
 * @module
 */

import { MOST_KEYS } from './held-key.js';
import type { Count, Counts } from './message.js';

/** A process that says nothing for so long is forgotten. */
const SILENT_MS = 60_000;

/** As many processes as are known at once. */
const MOST_PEERS = 1000;

interface Peer {
  /** The number of its last message. */
  number: number;
  heardMs: number;
  /** Whether a key that is not among the totals was never heard of: then its total is of what was not counted in. */
  whole: boolean;
  /** By key, in the order in which they were heard of last. */
  readonly totals: Map<string, Total>;
}

/** The units that were counted in, and when they were heard of last. */
interface Total {
  readonly units: number;
  readonly heardMs: number;
}

export class Peers {
  readonly #peers = new Map<string, Peer>();
  /** Of all of them together. */
  #keys = 0;

  /** How many processes have been heard of lately. */
  get size(): number {
    return this.#peers.size;
  }

  /** Of how many keys totals are known, {@link MOST_KEYS} at most. */
  get keys(): number {
    return this.#keys;
  }

  /**
   * Returns what is new in a message, and how long ago the process was heard before; nothing if it is an old one.
   *
   * @param keepMs - totals that are older are forgotten: the process that said them begins anew by then.
   */
  hear(
    { from, number, counts }: Counts,
    nowMs: number,
    keepMs: number,
  ): { news: readonly Count[]; silentMs: number } {
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
    this.#forget(nowMs, keepMs);
    const news = counts.map((count) => ({ ...count, news: this.#newsOf(peer, count, nowMs) }));
    this.#trim();
    return { news, silentMs: missed ? silentMs : 0 };
  }

  #forget(nowMs: number, keepMs: number): void {
    for (const [from, { heardMs, totals }] of this.#peers) {
      if (nowMs - heardMs < SILENT_MS && this.#peers.size <= MOST_PEERS) break;
      this.#peers.delete(from);
      this.#keys -= totals.size;
    }
    for (const { totals } of this.#peers.values()) {
      for (const [key, { heardMs }] of totals) {
        if (nowMs - heardMs < keepMs) break;
        this.#delete(totals, key);
      }
    }
  }

  /** The oldest go of the process that was silent for longest. */
  #trim(): void {
    for (const peer of this.#peers.values()) {
      for (const key of peer.totals.keys()) {
        if (this.#keys <= MOST_KEYS) return;
        this.#delete(peer.totals, key);
        peer.whole = false;
      }
    }
  }

  /** The units that were not counted in yet: also those of messages that got lost. */
  #newsOf({ totals, whole }: Peer, { key, total, news }: Count, nowMs: number): number {
    const known = totals.get(key);
    this.#delete(totals, key);
    if (total === null) return 0;
    totals.set(key, { units: total, heardMs: nowMs });
    this.#keys += 1;
    if (known === undefined) return whole ? total : news;
    // A process that has forgotten a key counts it from 0 again.
    return Math.max(total - known.units, news);
  }

  #delete(totals: Map<string, Total>, key: string): void {
    if (totals.delete(key)) this.#keys -= 1;
  }
}
