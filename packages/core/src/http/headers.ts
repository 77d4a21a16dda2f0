/**
 * Rate limit headers: the only place that knows their names, and where milliseconds become seconds.
 *
 * Times round up and counts round down, so that a client that believes them is never refused.
 *
 * @module
 */

import { expected } from '../errors.js';

/**
 * How limits are told: `'legacy'` is `X-RateLimit-*`; the others are the wire formats of
 * draft-ietf-httpapi-ratelimit-headers 06, 07, and 08 (which 09 to 11 share).
 */
export type HeaderFormat = 'legacy' | 'draft-6' | 'draft-7' | 'draft-8';

/** How `X-RateLimit-Reset` tells the time: in seconds since the epoch, or in seconds from now. */
export type ResetFormat = 'epoch' | 'seconds';

/** A header field: its name and its value. */
export type Header = readonly [name: string, value: string];

/** One policy as headers show it. */
export interface HeaderItem {
  /** Its name in draft-8. */
  readonly name: string;
  /** Its capacity. */
  readonly limit: number;
  /** The most that it would admit now. */
  readonly remaining: number;
  /** Its window; for a bucket, the time in which all of it refills. */
  readonly windowMs: number;
  /** The time to show: the wait where the policy denies, the reset where it does not. */
  readonly timeMs: number;
  /** Whether to come back after that time; then it is never shown as 0. */
  readonly denies: boolean;
  /** Who is counted (draft-8 `pk`), if that is to be told: bytes, or a text that is sent in UTF-8. */
  readonly partition?: string | Uint8Array | undefined;
}

/** RFC 9651 integers have at most 15 digits. */
const MOST = 999_999_999_999_999;

/** The end of the year 9999, in seconds since the epoch: what ends later, or never, is told as ending then. */
const LAST_DATE = 253_402_300_799;

const FORMATS: readonly HeaderFormat[] = ['legacy', 'draft-6', 'draft-7', 'draft-8'];

/**
 * Returns the formats to send, each once; `undefined` means `'legacy'`, `false` none.
 *
 * @throws ArgumentError unless it is a format, a list of formats, or `false`. Draft 8 goes with neither 6 nor 7: it
 * gives another meaning to fields of theirs, and a response has each field but once.
 *
 * @example
 * import { parseFormats } from '@sluice/core/http';
 * parseFormats(['legacy', 'draft-8']); // ['legacy', 'draft-8']
 */
export function parseFormats(value: unknown): readonly HeaderFormat[] {
  if (value === undefined) return ['legacy'];
  if (value === false) return [];
  const formats = (Array.isArray(value) ? value : [value]) as HeaderFormat[];
  if (
    formats.some((one) => formats.some((other) => contradict(one, other))) ||
    !formats.every((format) => FORMATS.includes(format))
  ) {
    const what =
      "'legacy', 'draft-6', 'draft-7', 'draft-8', a list of them without 'draft-8' beside 'draft-6' or 'draft-7', or false";
    throw expected('ERR_SLUICE_OPTION', 'headers', what, Array.isArray(value) ? value.join(', ') : value);
  }
  return [...new Set(formats)];
}

/** Whether the two give another meaning to one field. */
export function contradict(one: HeaderFormat, other: HeaderFormat): boolean {
  return (
    one !== other && (one === 'draft-8' || other === 'draft-8') && one !== 'legacy' && other !== 'legacy'
  );
}

/**
 * Returns the headers that tell of `items`; none where there is no item.
 *
 * @param binding - the item that legacy headers show.
 * @param now - ms since the epoch, the same for all headers of a response.
 * @param resetFormat - of the legacy headers; the drafts have no choice.
 *
 * @example
 * import { formatHeaders } from '@sluice/core/http';
 * const item = { name: 'default', limit: 100, remaining: 99, windowMs: 60_000, timeMs: 60_000, denies: false };
 * formatHeaders(['draft-8'], [item], item, Date.now());
 * // [['RateLimit-Policy', '"default";q=100;w=60'], ['RateLimit', '"default";r=99;t=60']]
 */
export function formatHeaders(
  formats: readonly HeaderFormat[],
  items: readonly HeaderItem[],
  binding: HeaderItem | undefined,
  now: number,
  resetFormat: ResetFormat = 'epoch',
): Header[] {
  if (items.length === 0 || binding === undefined) return [];
  if (formats.length === 1) return headersIn(formats[0], items, binding, now, resetFormat);
  // Drafts 6 and 7 have a field in common, and say the same in it.
  return [...new Map(formats.flatMap((format) => headersIn(format, items, binding, now, resetFormat)))];
}

function headersIn(
  format: HeaderFormat,
  items: readonly HeaderItem[],
  binding: HeaderItem,
  now: number,
  resetFormat: ResetFormat,
): Header[] {
  if (format === 'legacy') return legacy(binding, now, resetFormat);
  if (format === 'draft-8') return draft8(items);
  const least = items.reduce(
    (a, b) => (b.remaining < a.remaining || (b.remaining === a.remaining && b === binding) ? b : a),
    items[0],
  );
  return format === 'draft-6' ? draft6(items, least) : draft7(items, least);
}

/**
 * Returns `names`, each with a number from 2 on behind it where something was told under that name already: readers
 * tell the policies of a response apart by their names.
 */
export function distinctNames(
  names: readonly string[],
  told: readonly { readonly name: string }[],
): readonly string[] {
  if (told.length === 0) return names;
  const taken = new Set(told.map(({ name }) => name));
  return names.map((name) => {
    let free = name;
    for (let number = 2; taken.has(free); number++) free = `${name}-${number}`;
    taken.add(free);
    return free;
  });
}

/** Whole seconds, rounded up. */
export function secondsOf(ms: number): number {
  return Math.max(0, Math.ceil(ms / 1000));
}

function legacy(item: HeaderItem, now: number, resetFormat: ResetFormat): Header[] {
  const at = Math.min(LAST_DATE, Math.ceil((now + Math.max(0, item.timeMs)) / 1000));
  return [
    ['X-RateLimit-Limit', count(item.limit)],
    ['X-RateLimit-Remaining', count(item.remaining)],
    ['X-RateLimit-Reset', resetFormat === 'epoch' ? String(at) : time(item)],
  ];
}

function draft6(items: readonly HeaderItem[], least: HeaderItem): Header[] {
  return [
    ['RateLimit-Policy', policies67(items, least)],
    ['RateLimit-Limit', count(least.limit)],
    ['RateLimit-Remaining', count(least.remaining)],
    ['RateLimit-Reset', time(least)],
  ];
}

function draft7(items: readonly HeaderItem[], least: HeaderItem): Header[] {
  const { limit, remaining } = least;
  return [
    ['RateLimit-Policy', policies67(items, least)],
    ['RateLimit', `limit=${count(limit)}, remaining=${count(remaining)}, reset=${time(least)}`],
  ];
}

function draft8(items: readonly HeaderItem[]): Header[] {
  const each = (tell: (item: HeaderItem) => string) =>
    items.map((item) => `${quote(item.name)};${tell(item)}${partition(item)}`).join(', ');
  return [
    ['RateLimit-Policy', each((item) => `q=${count(item.limit)};w=${seconds(item.windowMs)}`)],
    ['RateLimit', each((item) => `r=${count(item.remaining)};t=${time(item)}`)],
  ];
}

/** Drafts 6 and 7 tell policies apart by their quotas, so of those that have the same, only one may be listed. */
function policies67(items: readonly HeaderItem[], least: HeaderItem): string {
  const listed = new Map<string, HeaderItem>();
  for (const item of items) {
    const quota = count(item.limit);
    if (!listed.has(quota) || item === least) listed.set(quota, item);
  }
  return Array.from(listed, ([quota, item]) => `${quota};w=${seconds(item.windowMs)}`).join(', ');
}

const count = (value: number) => String(Math.min(MOST, Math.max(0, Math.floor(value))));

const seconds = (ms: number) => String(Math.max(1, Math.min(MOST, secondsOf(ms))));

const time = (item: HeaderItem) =>
  String(Math.min(MOST, Math.max(item.denies ? 1 : 0, secondsOf(item.timeMs))));

/** An RFC 9651 String. Names are checked where they enter, so only these two need an escape. */
const quote = (name: string) => `"${name.replace(/["\\]/g, '\\$&')}"`;

const partition = (item: HeaderItem) =>
  item.partition === undefined ? '' : `;pk=:${Buffer.from(item.partition).toString('base64')}:`;
