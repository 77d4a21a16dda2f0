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
  let hash = 0x811c9dc5 ^ key.length;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  // FNV's low bits know nothing of the high ones (this is the end of MurmurHash3).
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0 < share * 2 ** 32;
}
