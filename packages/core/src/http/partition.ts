/**
 * Partition keys: who is counted, told so that only who knows the secret can tell who that is.
 *
 * @module
 */

import { createHmac, createSecretKey } from 'node:crypto';
import { expected } from '../errors.js';

/** Who knows a short secret's first letters finds the rest by trying. */
const SHORTEST_SECRET = 16;

/** RFC 2104, section 5: a shortened HMAC keeps at least half of its bits. */
const LENGTH = 16;

/**
 * Returns a function from a key to its partition key: the first 128 bits of the HMAC-SHA-256 (RFC 2104) of the key in
 * UTF-8; or `undefined` where there is no secret.
 *
 * Without a secret it would be no secret at all: there are only 2^32 IPv4 addresses to try.
 *
 * @throws ArgumentError unless the secret is text or bytes, at least 16 bytes of it.
 */
export function partitionBy(secret: unknown): ((key: string) => Uint8Array) | undefined {
  if (secret === undefined) return undefined;
  const bytes = typeof secret === 'string' ? Buffer.from(secret) : secret;
  if (!(bytes instanceof Uint8Array) || bytes.length < SHORTEST_SECRET) {
    // The message must not repeat what may be somebody's secret.
    const got = bytes instanceof Uint8Array ? bytes.length : secret;
    throw expected('ERR_SLUICE_OPTION', 'partitionSecret', 'text or bytes, at least 16 bytes', got);
  }
  const hashKey = createSecretKey(bytes);
  return (key) => createHmac('sha256', hashKey).update(key).digest().subarray(0, LENGTH);
}
