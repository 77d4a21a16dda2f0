/**
 * Headers that scripts of another origin may read.
 *
 * @module
 */

import type { IncomingHttpHeaders, OutgoingHttpHeader } from 'node:http';
import type { Header } from './headers.js';

/** Of what a limiter sends, what every script may read (Fetch standard, "CORS-safelisted response-header name"). */
const SAFELISTED = ['Cache-Control', 'Content-Type'];

const ORIGIN = 'origin';

const EXPOSE = 'Access-Control-Expose-Headers';

/** What this needs of a response, of HTTP/1 or 2. */
export interface Exposing {
  /** Whether the head is on its way. */
  readonly headersSent: boolean;
  /** Returns what was set. */
  getHeader(name: string): OutgoingHttpHeader | undefined;
  /** Sends the head, of which the last argument may be headers. */
  // biome-ignore lint/suspicious/noExplicitAny: the overloads of HTTP/1 and of HTTP/2 have nothing else in common.
  writeHead: (...args: any[]) => any;
  /** Sets one. */
  setHeader(name: string, value: string): unknown;
}

/** What this needs of a request. */
export interface MaybeCrossOrigin {
  /** By names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as they came. */
  readonly rawHeaders?: readonly string[];
}

/** The names that each response is to expose. */
const exposed = new WeakMap<Exposing, Set<string>>();

/**
 * Makes a response to a request from another origin name those of `headers` that it is sent with in
 * `Access-Control-Expose-Headers`, after all that the application names there.
 *
 * That is done when the head is written, because the CORS middleware of Express, Fastify and Koa replace the field,
 * before the limiter, after it, or on the way of an error. A response that allows no other origin is left alone
 * ([Fetch](https://fetch.spec.whatwg.org/#http-access-control-expose-headers)).
 *
 * @example
 * import { createServer } from 'node:http';
 * import { exposeHeaders } from '@sluice/core/http';
 * createServer((request, response) => {
 *   response.setHeader('X-RateLimit-Limit', '100');
 *   exposeHeaders(request, response, [['X-RateLimit-Limit', '100']]);
 *   response.end();
 * });
 */
export function exposeHeaders(
  request: MaybeCrossOrigin,
  response: Exposing,
  headers: readonly Header[],
): void {
  if (headers.length === 0 || !isCrossOrigin(request)) return;
  let names = exposed.get(response);
  if (names === undefined) {
    names = new Set();
    exposed.set(response, names);
    exposeOnWrite(response, names);
  }
  for (const [name] of headers) if (!SAFELISTED.includes(name)) names.add(name);
}

/**
 * By the headers as they came, if there are any: Node makes the others when they are first asked for. An origin that was
 * written into those alone is not seen.
 */
function isCrossOrigin(request: MaybeCrossOrigin): boolean {
  const raw = request.rawHeaders;
  if (!Array.isArray(raw) || raw.length === 0) return request.headers.origin !== undefined;
  for (let i = 0; i < raw.length; i += 2) {
    if (raw[i].length === ORIGIN.length && lower(raw[i]) === ORIGIN) return true;
  }
  return false;
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
  const given = fieldsOf(last);
  const sentAs = (name: string) => {
    const own = given.filter((field) => lower(field[0]) === lower(name)).flatMap(([, value]) => value ?? []);
    return own.length > 0 ? own : response.getHeader(name);
  };
  if (sentAs('Access-Control-Allow-Origin') === undefined) return args;

  const listed = [sentAs(EXPOSE) ?? []].flat().join(', ');
  const known = listed.split(',').map((name) => lower(name.trim()));
  const more = [...names].filter((name) => sentAs(name) !== undefined && !known.includes(lower(name)));
  if (more.length === 0) return args;
  const value = [...(listed === '' ? [] : [listed]), ...more].join(', ');
  const others = given.filter(([name]) => lower(name) !== lower(EXPOSE));
  if (others.length < given.length)
    return [...args.slice(0, -1), inFormOf(last, [...others, [EXPOSE, value]])];
  response.setHeader(EXPOSE, value);
  return args;
}

type Field = readonly [name: string, value: unknown];

/** The fields in headers of any form that `writeHead` takes: a record, names and values in turn, or pairs of them. */
function fieldsOf(headers: unknown): Field[] {
  if (typeof headers !== 'object' || headers === null) return [];
  if (!Array.isArray(headers)) return Object.entries(headers);
  if (Array.isArray(headers[0])) return headers;
  return headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1]]] : []));
}

/** Returns headers of the same form as `like`. */
function inFormOf(like: unknown, fields: Field[]): unknown {
  if (!Array.isArray(like)) return Object.fromEntries(fields);
  return Array.isArray(like[0]) ? fields : fields.flat();
}

/** What is no text is left for Node to refuse. */
const lower = (name: unknown) => String(name).toLowerCase();
