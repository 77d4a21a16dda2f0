/**
 * What processes that share limits say to each other.
 *
 * @module
 */

import { ArgumentError } from '../errors.js';

/** Others are not understood, and must not be taken for what they are not. */
const VERSION = 1;

/** What was remembered of a key is no longer so. */
interface Forgotten {
  /** The limiter's name. */
  readonly limiter: string;
  /** The key as it is held: by its digest where it is long. */
  readonly key: string;
}

/** What one process has admitted of a key. */
export interface Count {
  readonly key: string;
  /** All units since that process began to count; `null` if the key was reset. */
  readonly total: number | null;
  /** Those of them that it had not said yet. */
  readonly news: number;
  /** How many it has given back, and had not said yet. */
  readonly back: number;
  /** When the first of those was charged, by its clock. */
  readonly chargedMs: number;
}

/** What one process has admitted. */
export interface Counts {
  readonly limiter: string;
  /** Which process says so, and how many messages it has sent before. */
  readonly from: string;
  readonly number: number;
  /** How long ago the first of the news was admitted. */
  readonly heldMs: number;
  readonly counts: readonly Count[];
}

export type Message = Forgotten | Counts;

export function write(message: Message): string {
  if (!('counts' in message)) return JSON.stringify([VERSION, message.limiter, message.key]);
  const { limiter, from, number, heldMs, counts } = message;
  const each = counts.map(({ key, total, news, back, chargedMs }) =>
    back === 0 ? [key, total, news] : [key, total, news, back, chargedMs],
  );
  return JSON.stringify([VERSION, limiter, from, number, heldMs, each]);
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
  const [version, limiter, ...rest] = parts;
  if (version !== VERSION) throw bad(`a message of version ${VERSION}`, text);
  if (typeof limiter === 'string' && rest.length === 4) return readCounts(limiter, rest, text);
  const [key] = rest;
  if (rest.length !== 1 || typeof limiter !== 'string' || typeof key !== 'string') {
    throw bad('a limiter and a key', text);
  }
  return { limiter, key };
}

function readCounts(limiter: string, [from, number, heldMs, each]: unknown[], text: unknown): Counts {
  if (typeof from !== 'string' || !isCount(number) || !isCount(heldMs) || !Array.isArray(each)) {
    throw bad('a process and its counts', text);
  }
  const counts = each.map((one: unknown) => {
    const parts = Array.isArray(one) && (one.length === 3 || one.length === 5) ? one : [];
    const [key, total, news, back = 0, chargedMs = 0] = parts;
    const known = total === null || Number.isSafeInteger(total);
    const numbers = Number.isSafeInteger(news) && isCount(back) && Number.isSafeInteger(chargedMs);
    if (typeof key !== 'string' || !known || !numbers) throw bad('a key and its counts', text);
    return { key, total: total as number | null, news: news as number, back, chargedMs };
  });
  return { limiter, from, number, heldMs, counts };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

function bad(what: string, text: unknown): ArgumentError {
  const shown = typeof text === 'string' ? JSON.stringify(text.slice(0, 100)) : `a ${typeof text}`;
  return new ArgumentError('ERR_SLUICE_MESSAGE', `Expected ${what}, got ${shown}; it was ignored.`);
}
