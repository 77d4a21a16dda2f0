/**
 * From a request to a verdict: all that the frameworks' adapters share.
 *
 * @module
 */

import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { expected } from '../errors.js';
import type { Limiter, RequestOptions } from '../limiter.js';
import { parseLimit } from '../policy.js';
import type { Decision } from '../types.js';
import { keyOfAddress } from './client-key.js';
import {
  formatHeaders,
  type Header,
  type HeaderFormat,
  type HeaderItem,
  parseFormats,
  secondsOf,
} from './headers.js';
import { type Awaitable, type LooseOptions, limiterOf, type RateLimitOptions } from './options.js';
import { PROBLEM_TYPE, problemBody } from './problem.js';

/** How to read a framework's request. */
export interface Host<Req> {
  /** Node's own request: it stands for the request wherever it is wrapped. */
  raw(request: Req): IncomingMessage;
  /** The client's address as the framework sees it, its own trust settings applied. */
  address(request: Req): string | undefined;
}

/** What to do with a request. */
export interface Verdict {
  /** Absent where the request was not judged: skipped, or charged by this limiter before. */
  readonly decision?: Decision;
  /** To be set on the response, whatever becomes of it. */
  readonly headers: readonly Header[];
  /** Present if the request is to be refused. */
  readonly denial?: Denial;
}

/** How to refuse. The headers of the verdict go with it. */
export interface Denial {
  readonly status: number;
  readonly body: string;
}

/** Judges requests. Answers at once where nothing it asks needs waiting for. */
export interface Guard<Req, Handler = unknown> {
  readonly limiter: Limiter;
  /** The user's own answer to a denied request, if there is one. */
  readonly handler: Handler | undefined;
  /** @throws whatever the user's functions throw, and StoreError; nothing is charged then. */
  check(request: Req): Awaitable<Verdict>;
}

const PASS: Verdict = { headers: [] };

/** Per limiter and request: which guards charged which keys. */
const charges = new WeakMap<Limiter, WeakMap<IncomingMessage, [guard: object, key: string][]>>();

/**
 * Returns a guard for the requests of one framework.
 *
 * @throws ArgumentError if an option is wrong.
 */
export function createGuard<Req, Handler>(
  options: RateLimitOptions<Req, Handler>,
  host: Host<Req>,
): Guard<Req, Handler> {
  return new LimiterGuard(options as LooseOptions<Req, Handler>, host);
}

class LimiterGuard<Req, Handler> implements Guard<Req, Handler> {
  readonly limiter: Limiter;
  readonly handler: Handler | undefined;
  readonly #options: LooseOptions<Req, Handler>;
  readonly #host: Host<Req>;
  readonly #formats: readonly HeaderFormat[];
  readonly #names: readonly string[];
  readonly #charged: WeakMap<IncomingMessage, [guard: object, key: string][]>;

  constructor(options: LooseOptions<Req, Handler>, host: Host<Req>) {
    this.limiter = limiterOf(options);
    this.handler = options.handler;
    this.#options = options;
    this.#host = host;
    this.#formats = parseFormats(options.headers);
    this.#names = headerNames(this.limiter);
    this.#charged = charges.get(this.limiter) ?? new WeakMap();
    charges.set(this.limiter, this.#charged);
  }

  check(request: Req): Awaitable<Verdict> {
    const charged = this.#charged.get(this.#host.raw(request));
    if (charged?.some(([guard]) => guard === this)) return PASS;
    const { skip } = this.#options;
    if (skip === undefined) return this.#judge(request);
    return then(skip(request), (skipped) => (skipped ? PASS : this.#judge(request)));
  }

  #judge(request: Req): Awaitable<Verdict> {
    const { cost = 1, limit } = this.#options;
    return then(this.#keyOf(request), (key) => {
      if (!this.#claim(request, key)) return PASS;
      return then(typeof cost === 'function' ? cost(request) : cost, (units) => {
        if (typeof limit !== 'function') return this.#consume(key, { cost: units });
        return then(limit(request), (own) => this.#consume(key, { cost: units, limit: checkLimit(own) }));
      });
    });
  }

  #consume(key: string, options: RequestOptions): Awaitable<Verdict> {
    return then(this.limiter.consume(key, options), (decision) => {
      const verdict = this.#verdictOf(decision);
      return decision.delayMs === 0 ? verdict : sleep(decision.delayMs).then(() => verdict);
    });
  }

  /** Whether this limiter has not charged the request under this key yet. */
  #claim(request: Req, key: string): boolean {
    const raw = this.#host.raw(request);
    const charged = this.#charged.get(raw);
    if (charged === undefined) this.#charged.set(raw, [[this, key]]);
    else if (charged.some(([, other]) => other === key)) return false;
    else charged.push([this, key]);
    return true;
  }

  #keyOf(request: Req): Awaitable<string> {
    const { key } = this.#options;
    if (key === undefined) return this.#addressKey(request);
    return then(key(request), (own) => {
      if (own === undefined || own === null) return this.#addressKey(request);
      if (typeof own !== 'string')
        throw expected('ERR_SLUICE_ARGUMENT', 'key', 'a string, undefined or null', own);
      return own;
    });
  }

  /** An address that is none, such as a proxy's `unknown`, is not looked behind: then the peer itself is asking. */
  #addressKey(request: Req): string {
    const { socket } = this.#host.raw(request);
    return (
      keyOfAddress(this.#host.address(request)) ??
      keyOfAddress(socket.remoteAddress) ??
      keyOfConnection(socket)
    );
  }

  #verdictOf(decision: Decision): Verdict {
    const items: HeaderItem[] = [];
    let binding: HeaderItem | undefined;
    decision.policies.forEach((policy, i) => {
      if (policy.limit === Infinity) return;
      const denies = policy.retryAfterMs > 0 && policy.retryAfterMs !== Infinity;
      const item = {
        ...policy,
        name: this.#names[i],
        timeMs: denies ? policy.retryAfterMs : policy.resetMs,
        denies,
      };
      items.push(item);
      if (policy.name === decision.policy) binding = item;
    });
    const now = this.limiter.clock?.now() ?? Date.now();
    const headers = formatHeaders(this.#formats, items, binding ?? items[0], now);
    if (decision.allowed) return { decision, headers };

    headers.push(['Cache-Control', 'no-store'], ['Content-Type', PROBLEM_TYPE]);
    const { retryAfterMs } = decision;
    if (retryAfterMs !== Infinity)
      headers.push(['Retry-After', String(Math.max(1, secondsOf(retryAfterMs)))]);
    const violated = this.#names.filter((_, i) => !decision.policies[i].allowed);
    return { decision, headers, denial: { status: 429, body: problemBody(violated, retryAfterMs) } };
  }
}

/** The policies' names in headers: the limiter's, the policy's where there are several, neither if it is the default. */
function headerNames({ name, policies }: Limiter): readonly string[] {
  if (policies.length === 1) return [name === 'default' ? policies[0].name : name];
  return policies.map((policy) => (name === 'default' ? policy.name : `${name}-${policy.name}`));
}

function checkLimit<T>(limit: T): T {
  if (typeof limit !== 'object' || limit === null) parseLimit(limit, 'limit', 'ERR_SLUICE_ARGUMENT');
  return limit;
}

const connections = new WeakMap<object, string>();
const thisProcess = randomBytes(8).toString('hex');
let made = 0;

/**
 * The key of a client that has no address: one that hung up, or one on a Unix socket. Each connection is limited by
 * itself, so that none can use up what the others have.
 */
function keyOfConnection(socket: object): string {
  let key = connections.get(socket);
  if (key === undefined) {
    if (made === 0) {
      process.emitWarning(
        'A request has no client address; its connection is limited by itself. On a Unix socket, set the trust proxy setting of your framework or give `key`.',
        { code: 'SLUICE_NO_ADDRESS' },
      );
    }
    made += 1;
    key = `connection:${thisProcess}-${made}`;
    connections.set(socket, key);
  }
  return key;
}

/** `next(value)`, at once unless the value is yet to come. */
function then<T, U>(value: Awaitable<T>, next: (value: T) => Awaitable<U>): Awaitable<U> {
  if (typeof (value as PromiseLike<T> | null | undefined)?.then !== 'function') return next(value as T);
  return Promise.resolve(value).then(next);
}

/** Timers cannot be set for longer. */
const LONGEST_TIMER = 2 ** 31 - 1;

async function sleep(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= LONGEST_TIMER) {
    await new Promise((resolve) => setTimeout(resolve, Math.min(left, LONGEST_TIMER)));
  }
}
