/**
 * Headers that scripts of another origin may read.
 *
 * @module
 */

import type { IncomingHttpHeaders, OutgoingHttpHeader } from 'node:http';
import type { Header } from './headers.js';

/** Of what a limiter sends, what every script may read (Fetch standard, "CORS-safelisted response-header name"). */
const SAFELISTED = ['Cache-Control', 'Content-Type'];

const EXPOSE = 'Access-Control-Expose-Headers';

/** What this needs of a response, of HTTP/1 or 2. */
export interface Exposing {
  readonly headersSent: boolean;
  getHeader(name: string): OutgoingHttpHeader | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of HTTP/1 and of HTTP/2 have nothing else in common.
  writeHead: (...args: any[]) => any;
  setHeader(name: string, value: string): unknown;
}

/** The names that each response is to expose. */
const exposed = new WeakMap<Exposing, Set<string>>();

/**
 * Makes a response to a request from another origin name those of `headers` that it is sent with in
 * `Access-Control-Expose-Headers`, after all that the application names there.
 *
 * That is done when the head is written, because the CORS middleware of Express, Fastify and Koa replace the field,
 * before the limiter, after it, or on the way of an error. A response that allows no other origin is left alone.
 */
export function exposeHeaders(
  request: { readonly headers: IncomingHttpHeaders },
  response: Exposing,
  headers: readonly Header[],
): void {
  if (request.headers.origin === undefined || headers.length === 0) return;
  let names = exposed.get(response);
  if (names === undefined) {
    names = new Set();
    exposed.set(response, names);
    exposeOnWrite(response, names);
  }
  for (const [name] of headers) if (!SAFELISTED.includes(name)) names.add(name);
}

function exposeOnWrite(response: Exposing, names: ReadonlySet<string>): void {
  const { writeHead } = response;
  response.writeHead = function write(this: Exposing, ...args: unknown[]) {
    return writeHead.apply(this, response.headersSent ? args : withExposed(response, names, args));
  };
}

/** Returns the arguments of `writeHead`, of which the last may be headers, such that the names are exposed. */
function withExposed(response: Exposing, names: ReadonlySet<string>, args: unknown[]): unknown[] {
  const last = args.at(-1);
  const isRecord = typeof last === 'object' && last !== null && !Array.isArray(last);
  const given = new Map(isRecord ? Object.entries(last).map(([name, value]) => [lower(name), value]) : []);
  const sentAs = (name: string) => given.get(lower(name)) ?? response.getHeader(name);
  if (sentAs('Access-Control-Allow-Origin') === undefined) return args;

  const listed = [sentAs(EXPOSE) ?? []].flat().join(', ');
  const known = listed.split(',').map((name) => lower(name.trim()));
  const more = [...names].filter((name) => sentAs(name) !== undefined && !known.includes(lower(name)));
  if (more.length === 0) return args;
  const value = [...(listed === '' ? [] : [listed]), ...more].join(', ');
  const own = isRecord ? Object.keys(last).find((name) => lower(name) === lower(EXPOSE)) : undefined;
  if (own !== undefined) return [...args.slice(0, -1), { ...(last as object), [own]: value }];
  response.setHeader(EXPOSE, value);
  return args;
}

const lower = (name: string) => name.toLowerCase();
