/**
 * A hash for keys that strangers may choose.
 *
 * @module
 */

import { randomInt } from 'node:crypto';

/** Drawn anew by each process, the multiplier odd: nobody can prepare keys that fall into one place. */
const SEED = randomInt(2 ** 32);
const FACTOR = 2 * randomInt(2 ** 31) + 1;

/** Marks a step that takes one character: it is never the same as one that takes two. */
const WIDE = 0x10000;

/** Returns 32 bits, as a signed integer, that depend on every character. */
export function hashOf(key: string): number {
  const { length } = key;
  let hash = SEED ^ length;
  let i = 0;
  // Two characters a step where they are narrow, because multiplying takes longer than all the rest.
  for (; i + 1 < length; i += 2) {
    const first = key.charCodeAt(i);
    const second = key.charCodeAt(i + 1);
    if ((first | second) < 256) hash = mixed(hash ^ (first | (second << 8)));
    else hash = mixed(mixed(hash ^ (WIDE | first)) ^ (WIDE | second));
  }
  if (i < length) hash = mixed(hash ^ key.charCodeAt(i));
  hash ^= hash >>> 16;
  hash = Math.imul(hash, FACTOR);
  return hash ^ (hash >>> 15);
}

/** Carries what the low bits hold upwards, and brings the high bits down. */
function mixed(hash: number): number {
  const product = Math.imul(hash, FACTOR);
  return (product << 13) | (product >>> 19);
}
