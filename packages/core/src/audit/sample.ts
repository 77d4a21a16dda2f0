/**
 * Which keys are audited.
 *
 * @module
 */

/**
 * Whether `key` is among the `share` of all keys that is looked at: the same ones in every process, on every machine and
 * after every restart, and of two shares the smaller is part of the larger.
 *
 * Strangers may choose keys that are in it. That is why what is kept of them is bounded; it is no secret who is in it.
 */
export function isSampled(key: string, share: number): boolean {
  const { length } = key;
  let hash = length;
  // Two characters a step: this is all that most keys cost, and multiplying takes longer than all the rest of it.
  for (let i = 0; i < length; i += 2) {
    const second = i + 1 < length ? key.charCodeAt(i + 1) : 0;
    const product = Math.imul(hash ^ (key.charCodeAt(i) | (second << 16)), 0xcc9e2d51);
    hash = (product << 13) | (product >>> 19);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0 < share * 2 ** 32;
}
