/**
 * The hops that headers tell of, nearest first. Each proxy adds to the right end, so what stands there was written by
 * one that can be trusted, and what a client wrote is only reached by going on.
 *
 * @module
 */

/** Returns the elements of a list, from the last to the first; empty ones are left out (RFC 9110, 5.6.1). */
export function* hopsOf(list: string): Generator<string, void> {
  let end = list.length;
  while (end >= 0) {
    const comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1);
    const hop = list.slice(comma + 1, end).trim();
    if (hop !== '') yield hop;
    end = comma;
  }
}

/**
 * Returns what the `for` of each element of a `Forwarded` header says (RFC 7239, section 4), from the last to the first:
 * an address, `unknown` or an obfuscated name, and `''` where an element has none or is malformed.
 */
export function* forwardedHops(header: string): Generator<string, void> {
  let end = header.length;
  while (end >= 0) {
    const comma = lastComma(header, end);
    const element = header.slice(comma + 1, end).trim();
    if (element !== '') yield nodeOf(element);
    end = comma;
  }
}

/** The last comma before `end` that is not quoted, or -1. Read from the right: an open quote at the left hides nothing. */
function lastComma(header: string, end: number): number {
  let quoted = false;
  for (let i = end - 1; i >= 0; i--) {
    const char = header[i];
    if (char === '"' && !(quoted && header[i - 1] === '\\')) quoted = !quoted;
    else if (char === ',' && !quoted) return i;
  }
  return -1;
}

/** `name=token` or `name="quoted"`, several with semicolons between them. */
const PAIR = /\s*([\w!#$%&'*+.^`|~-]+)=(?:([\w!#$%&'*+.^`|~-]+)|"((?:[^"\\]|\\.)*)")\s*(?:;|$)/y;

function nodeOf(element: string): string {
  let node = '';
  PAIR.lastIndex = 0;
  while (PAIR.lastIndex < element.length) {
    const [, name, token, quoted] = PAIR.exec(element) ?? [];
    // Malformed, or `for` twice: nobody knows who is meant.
    if (name === undefined) return '';
    if (name.toLowerCase() !== 'for') continue;
    if (node !== '') return '';
    node = token ?? quoted.replace(/\\(.)/g, '$1');
  }
  return node;
}
