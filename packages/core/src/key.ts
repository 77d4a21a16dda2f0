/**
 * Keys, kept short: what a client sends must not decide how much a store holds.
 *
 * @module
 */

import { createHash } from 'node:crypto';

/** Longer keys are held by their digest. */
export const LONGEST_KEY = 128;

/** How long a digest is. */
export const DIGEST_LENGTH = 23;

/**
 * Returns `#` and 22 characters for a key: 128 bits of its SHA-256, as many as make a collision hopeless to look for.
 *
 * It is taken of the UTF-16 code units, because UTF-8 would fold all lone surrogates into one.
 */
export function digest(key: string): string {
  const hash = createHash('sha256').update(Buffer.from(key, 'utf16le')).digest();
  return `#${hash.toString('base64url', 0, 16)}`;
}
