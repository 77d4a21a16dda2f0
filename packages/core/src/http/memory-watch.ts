/**
 * State in memory where it cannot be meant to be.
 *
 * @module
 */

import cluster from 'node:cluster';
import type { IncomingMessage } from 'node:http';
import type { Http2ServerRequest } from 'node:http2';
import { Duplex, Readable } from 'node:stream';
import { MemoryStore } from '../index.js';
import { warnOnce } from '../warnings.js';

/** Set where one program runs in as many processes as there are requests: AWS, Azure, Google (Knative), Vercel. */
const SERVERLESS = ['AWS_LAMBDA_FUNCTION_NAME', 'FUNCTIONS_WORKER_RUNTIME', 'K_SERVICE', 'VERCEL'];

/** So many limiters, each made for one request, are no accident. */
const IN_A_ROW = 3;

let inARow = 0;

/** Sees to the first requests of a limiter whose state is in memory. */
export class MemoryWatch {
  #newborn: boolean;
  #perRequest = false;

  /** @param own - whether nobody else has the memory: with the limiter, it is gone. */
  constructor(own: boolean) {
    this.#newborn = own;
    // By a promise: fake timers hold up all other ways.
    if (own) Promise.resolve().then(() => (this.#newborn = false));
  }

  /** Warns of what can be seen, and returns whether there may be more to see. */
  see(request: IncomingMessage): boolean {
    if (this.#perRequest) {
      // It was kept after all.
      inARow = 0;
      return false;
    }
    warnIfNotShared();
    // No request comes in the very moment that a limiter is made, unless that was done for it.
    this.#perRequest = this.#newborn && isReal(request);
    if (this.#perRequest) warnIfMany();
    return this.#perRequest;
  }
}

/** Returns a watch for a limiter of such options, if its state is in memory as far as they say. */
export function watchMemory(options: {
  readonly limiter?: unknown;
  readonly store?: unknown;
}): MemoryWatch | undefined {
  if (options.limiter !== undefined) return undefined;
  if (options.store === undefined) return new MemoryWatch(true);
  return options.store instanceof MemoryStore ? new MemoryWatch(false) : undefined;
}

/** Whether a request came by a connection, of HTTP/1 or 2. A mock-up comes at once: it may be a stream, its socket is none. */
function isReal(request: IncomingMessage | Http2ServerRequest): boolean {
  return request instanceof Readable && request.socket instanceof Duplex;
}

function warnIfNotShared(): void {
  const place = cluster.isWorker
    ? 'This is one of several processes of a cluster'
    : SERVERLESS.some((name) => process.env[name] !== undefined)
      ? 'This host runs as many processes as it likes'
      : undefined;
  if (place === undefined) return;
  warnOnce(
    'SLUICE_MEMORY_NOT_SHARED',
    `${place}, and the memory store counts in each by itself. To limit them all together, give a RedisStore as \`store\`.`,
  );
}

function warnIfMany(): void {
  inARow += 1;
  if (inARow < IN_A_ROW) return;
  warnOnce(
    'SLUICE_LIMITER_PER_REQUEST',
    'Limiters are made while requests are handled, one for each request, so nothing is ever limited. Call rateLimit() once, where the server is set up.',
  );
}
