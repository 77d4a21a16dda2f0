/**
 * Keys as they are held here, and sent to others.
 *
 * @module
 */

import { DIGEST_LENGTH, digest, LONGEST_KEY } from '../key.js';

/** The most keys that a process remembers something of, per limiter. */
export const MOST_KEYS = 100_000;

/** Returns the key as it is held: what a client sends must not decide how much that is. */
export function heldKey(id: string): string {
  return id.length > LONGEST_KEY || (id.length === DIGEST_LENGTH && id.startsWith('#')) ? digest(id) : id;
}
