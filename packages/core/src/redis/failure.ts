/**
 * What an error of a Redis client means: its code, and whether the command may have run.
 *
 * Told by the words of the server and of the clients, never by classes: there may be two copies of a client, or a proxy.
 *
 * @module
 */

import { StoreError, type StoreErrorCode } from '../errors.js';

/** The words that servers begin an error with, and what they mean here. */
const WORDS: Readonly<Record<string, StoreErrorCode>> = {
  READONLY: 'ERR_SLUICE_STORE_READONLY',
  MISCONF: 'ERR_SLUICE_STORE_READONLY',
  NOREPLICAS: 'ERR_SLUICE_STORE_READONLY',
  MASTERDOWN: 'ERR_SLUICE_STORE_READONLY',
  OOM: 'ERR_SLUICE_STORE_OOM',
  NOPERM: 'ERR_SLUICE_STORE_NOPERM',
  NOAUTH: 'ERR_SLUICE_STORE_NOPERM',
  WRONGPASS: 'ERR_SLUICE_STORE_NOPERM',
  BUSY: 'ERR_SLUICE_STORE_BUSY',
  LOADING: 'ERR_SLUICE_STORE_LOADING',
  CLUSTERDOWN: 'ERR_SLUICE_STORE_CLUSTERDOWN',
  MOVED: 'ERR_SLUICE_STORE_MOVED',
  ASK: 'ERR_SLUICE_STORE_ASK',
  TRYAGAIN: 'ERR_SLUICE_STORE_ASK',
  NOSCRIPT: 'ERR_SLUICE_STORE_NOSCRIPT',
};

/** One of the words, wherever it stands: scripts, clients and proxies wrap what the server said. */
const WORD = new RegExp(`(?<![\\w-])-?(${Object.keys(WORDS).join('|')})(?!\\w)`);

/** What is NOPERM where a script meets it: Redis 7.0, then later ones and Valkey. */
const NOPERM_IN_SCRIPT = /user executing the script can't|ACL failure in script/;

/** How a server's error begins that has none of these words. */
const SERVER = /^-?(ERR|WRONGTYPE|CROSSSLOT|EXECABORT|UNKILLABLE|NOPROTO) /;

/** The names that clients give to errors that a server sent. */
const REPLY_NAMES = ['ReplyError', 'ErrorReply', 'SimpleError', 'BlobError'];

/** Of one key or of the script itself, not of the server. */
const LOCAL = /\bWRONGTYPE\b|\bsluice: |user_script|\bf_[0-9a-f]{40}\b/;

/** The server did not take the command, as it is not one that it has, or allows. */
const REFUSED =
  /^-?ERR (unknown command|.*\bpermissions?\b|max number of clients|.*cluster support disabled)|^-?(CROSSSLOT|NOPROTO|EXECABORT|UNKILLABLE) /i;

const TIMED_OUT = /\btimed? ?out\b/i;
const UNREACHABLE =
  /connect|socket|\bclosed\b|stream|offline|unreachable|hang ?up|max retries|slots cache|queue is full/i;

/** Nothing was sent: there was no connection, and the client does not wait for one. */
const NEVER_SENT =
  /enableOfflineQueue options is false|client is (offline|closed)|queue is full|^(connect )?ECONNREFUSED\b|^getaddrinfo /i;

/**
 * Returns the error as a {@link StoreError}.
 *
 * A server that answers with one of its own errors has run nothing: the script reads and checks everything before its
 * first write, and if that is refused, no other comes. But for permissions, of which each command needs its own.
 *
 * @param neverSent - whether the client has had no connection since it was given the command.
 */
export function failureOf(error: unknown, neverSent: boolean): StoreError {
  const own = textOf(error);
  const byServer = SERVER.test(own) || wordIn(own) !== undefined || REPLY_NAMES.includes(nameOf(error));
  // Any other error that begins as a server's do may be a proxy's, of a command that ran.
  const proven = WORD.test(own) || LOCAL.test(own) || REFUSED.test(own);
  // A permission that a script lacks shows when it comes to use it: after its first write, maybe.
  const notRun = (proven && !NOPERM_IN_SCRIPT.test(own)) || neverSent || NEVER_SENT.test(own);
  const failed = byServer ? 'did not decide' : notRun ? 'could not be asked' : 'did not answer';
  const message = `Redis ${failed}: ${own}`;
  return new StoreError(codeOf(error, own, byServer), message, notRun ? 'not-run' : 'unknown', error);
}

/**
 * Whether the server says that it does not know the script. It has run nothing.
 *
 * What the error carries does not count: it may be of an earlier attempt, and the last one may have run.
 */
export function isNoScript(error: unknown): boolean {
  return WORD.exec(textOf(error))?.[1] === 'NOSCRIPT';
}

/** Whether the error says that the server does not serve, rather than something of one key or of the script. */
export function isOutage(error: StoreError): boolean {
  return error.code !== 'ERR_SLUICE_STORE' || !LOCAL.test(error.message);
}

function codeOf(error: unknown, own: string, byServer: boolean): StoreErrorCode {
  const word = wordOf(error);
  if (word !== undefined) return WORDS[word];
  if (byServer) return 'ERR_SLUICE_STORE';
  if (TIMED_OUT.test(own)) return 'ERR_SLUICE_STORE_TIMEOUT';
  const { code } = (error ?? {}) as { code?: unknown };
  const unreachable = UNREACHABLE.test(own) || (typeof code === 'string' && /^E[A-Z]+$/.test(code));
  return unreachable ? 'ERR_SLUICE_STORE_CONNECTION' : 'ERR_SLUICE_STORE';
}

function wordIn(text: string): string | undefined {
  return WORD.exec(text)?.[1] ?? (NOPERM_IN_SCRIPT.test(text) ? 'NOPERM' : undefined);
}

/** The first word that the error or one that it carries has. */
function wordOf(error: unknown): string | undefined {
  for (const each of carriedBy(error)) {
    const word = wordIn(textOf(each));
    if (word !== undefined) return word;
  }
  return undefined;
}

/** How many errors are looked at: they may carry each other. */
const MOST_CARRIED = 20;

/** The error and those that it carries, from the outside in. */
function carriedBy(error: unknown): readonly unknown[] {
  const all = [error];
  for (let i = 0; i < all.length && all.length < MOST_CARRIED; i++) {
    const { cause, errors, previousErrors, lastNodeError } = (all[i] ?? {}) as Record<string, unknown>;
    for (const next of [cause, errors, previousErrors, lastNodeError].flat()) {
      if (next !== undefined && next !== null && !all.includes(next)) all.push(next);
    }
  }
  return all;
}

function textOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { message, code } = error as { message?: unknown; code?: unknown };
  if (typeof message === 'string' && message !== '') return message;
  // The error of several attempts to connect has a code and no message.
  return typeof code === 'string' ? code : nameOf(error);
}

function nameOf(error: unknown): string {
  const { name, constructor: made } = (error ?? {}) as { name?: unknown; constructor?: { name?: unknown } };
  const own = typeof name === 'string' && name !== 'Error' ? name : made?.name;
  return typeof own === 'string' ? own : '';
}
