/**
 * What processes that share limits say to each other.
 *
 * @module
 */

import { ArgumentError } from '../errors.js';

/** Others are not understood, and must not be taken for what they are not. */
const VERSION = 1;

/** What was remembered of a key is no longer so. */
export interface Message {
  /** The limiter's name. */
  readonly limiter: string;
  /** The key as it is held: by its digest where it is long. */
  readonly key: string;
}

export function write({ limiter, key }: Message): string {
  return JSON.stringify([VERSION, limiter, key]);
}

/** @throws ArgumentError if it is none, or of another version. */
export function read(text: unknown): Message {
  let parts: unknown;
  try {
    parts = JSON.parse(text as string);
  } catch {
    parts = undefined;
  }
  if (!Array.isArray(parts) || typeof parts[0] !== 'number') throw bad('a message of Sluice', text);
  const [version, limiter, key] = parts;
  if (version !== VERSION) throw bad(`a message of version ${VERSION}`, text);
  if (parts.length !== 3 || typeof limiter !== 'string' || typeof key !== 'string') {
    throw bad('a limiter and a key', text);
  }
  return { limiter, key };
}

function bad(what: string, text: unknown): ArgumentError {
  const shown = typeof text === 'string' ? JSON.stringify(text.slice(0, 100)) : `a ${typeof text}`;
  return new ArgumentError('ERR_SLUICE_MESSAGE', `Expected ${what}, got ${shown}; it was ignored.`);
}
