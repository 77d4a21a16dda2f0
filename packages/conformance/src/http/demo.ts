/**
 * What a framework brings along so that the adapter suite can talk to it.
 *
 * @module
 */

import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import { createServer as createServer2 } from 'node:http2';
import type { AddressInfo } from 'node:net';
import type { Decision } from '@sluice/core';
import type { Awaitable, RateLimitOptions } from '@sluice/core/http';

/** What the requests of all frameworks have in common. */
export interface AnyRequest {
  readonly headers: IncomingHttpHeaders;
  readonly socket: { readonly remoteAddress?: string | undefined };
  readonly method: string;
  readonly url: string;
}

/** A handler of the suite: what it returns is to be sent as text, what it throws is to be thrown. */
export type AnyHandler = (decision: Decision) => Awaitable<string>;

/** The options of every adapter. */
export type AnyOptions = RateLimitOptions<AnyRequest, AnyHandler>;

/** Returns a framework's own options: all but the handler, which `wrap` makes one of the framework's, are the same. */
export function optionsFor<Options>(options: AnyOptions, wrap: (handler: AnyHandler) => unknown): Options {
  const { handler } = options;
  return (typeof handler === 'function' ? { ...options, handler: wrap(handler) } : options) as Options;
}

/** A server to be. It answers every request with the JSON of `{ decision }`, or fails if the request has `x-fail`. */
interface Demo {
  /** One `rateLimit` each, in this order, in front of everything. The same object twice is the same middleware twice. */
  readonly limits: readonly AnyOptions[];
  /** Believe the `X-Forwarded-For` of a peer on this machine. */
  readonly trustProxy?: boolean;
  /** Leave the answer to an error to the framework; else every error is answered by a 500. */
  readonly plainErrors?: boolean;
  /** The framework's CORS middleware, before the limits or after them, open to all; and what it exposes by itself. */
  readonly cors?: { readonly place: 'before' | 'after'; readonly exposed?: readonly string[] };
  /** Called before a request is limited, with a function that answers it with a 503. */
  readonly before?: (answer: () => void) => void;
  /** Answers in place of the route, by Node's own response, as streams do. */
  readonly answer?: (response: ServerResponse, decision: Decision | null) => void;
  /** Speak HTTP/2, without TLS. */
  readonly http2?: boolean | undefined;
  /** Listen on a Unix socket there, rather than on a port. */
  readonly path?: string | undefined;
}

/** A demo that listens on a loopback port. */
export interface RunningDemo {
  readonly server: Server;
  /** How many requests got past the limits. */
  handled(): number;
  /** What came down the framework's error path, in the order in which it came. */
  readonly errors: readonly unknown[];
}

/** Starts a demo; the suite closes its server. */
export type Start = (demo: Demo) => Promise<RunningDemo>;

/** One framework in one version. */
export interface Adapter {
  readonly name: string;
  readonly start: Start;
  /** Whether the framework speaks HTTP/2. */
  readonly http2: boolean;
}

/** Starts a server for a framework that has but a listener for requests. */
export async function listen(
  listener: (...args: never[]) => void,
  { http2 = false, path }: Pick<Demo, 'http2' | 'path'> = {},
): Promise<Server> {
  const create = (http2 ? createServer2 : createServer) as (listener: unknown) => Server;
  const server = create(listener);
  if (path === undefined) server.listen(0, '127.0.0.1');
  else server.listen(path);
  await once(server, 'listening');
  return server;
}

/** The bodies of so many responses of the server, one after the other. */
export async function bodiesOf(server: Server, count: number): Promise<string[]> {
  const { port } = server.address() as AddressInfo;
  const bodies: string[] = [];
  for (let i = 0; i < count; i++) bodies.push(await (await fetch(`http://127.0.0.1:${port}/`)).text());
  return bodies;
}
