/**
 * The keys of Redis: `rl:{<id>}:<limiter>`, and `:<policy>` unless that is the lone default.
 *
 * @module
 */

import { digest, LONGEST_KEY } from '../key.js';
import type { ParsedPolicy } from '../types.js';

/** No control characters, no lone surrogates, no braces; not empty, and no `#` in front. */
const PLAIN = /^[^#{}\p{Cc}\p{Cs}][^{}\p{Cc}\p{Cs}]*$/u;

/**
 * Returns the id as it stands between the braces, where it is the hash tag: all keys of one decision are in one slot.
 *
 * An id that could end the tag early, be no tag at all, or be altered on its way to the server is replaced by its
 * digest. So is one that looks like a digest.
 */
export function tagOf(id: string): string {
  return id.length <= LONGEST_KEY && PLAIN.test(id) ? id : digest(id);
}

/** Returns what follows the id in the key of each policy. */
export function suffixesOf(limiter: string, policies: readonly ParsedPolicy[]): readonly string[] {
  const lone = policies.length === 1 && policies[0].name === 'default';
  return policies.map((policy) => (lone ? `}:${limiter}` : `}:${limiter}:${policy.name}`));
}
