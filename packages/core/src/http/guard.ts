/**
 * From a request to a verdict: all that the frameworks' adapters share.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import { instantOf } from '../decision.js';
import { expected } from '../errors.js';
import type { Limiter, RequestOptions } from '../limiter.js';
import { parseLimit } from '../policy.js';
import type { Decision } from '../types.js';
import { type Awaitable, sleep, then, withErrors } from './awaitable.js';
import { keyOfAddress, keyOfConnection } from './client-key.js';
import {
  distinctNames,
  formatHeaders,
  type Header,
  type HeaderFormat,
  type HeaderItem,
  parseFormats,
  secondsOf,
} from './headers.js';
import { type LooseOptions, limiterOf, type RateLimitOptions } from './options.js';
import { PROBLEM_TYPE, problemBody, UNAVAILABLE_BODY } from './problem.js';

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
  /**
   * @throws whatever the user's functions throw, if it is an error; nothing is charged then.
   * @throws StoreError if the store failed and the limiter's `onStoreError` is `'throw'`.
   */
  check(request: Req): Awaitable<Verdict>;
}

const PASS: Verdict = { headers: [] };

/** What became of a request so far. */
interface Trail {
  readonly charges: { readonly guard: object; readonly limiter: Limiter; readonly key: string }[];
  /** What its headers tell of, and the policy that legacy headers show. */
  readonly items: ToldItem[];
  binding: ToldItem | undefined;
}

/** What headers tell of a policy, and the instant that its time counts from. */
interface ToldItem extends HeaderItem {
  readonly at: number;
}

const trails = new WeakMap<IncomingMessage, Trail>();

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

  constructor(options: LooseOptions<Req, Handler>, host: Host<Req>) {
    this.#formats = parseFormats(options?.headers);
    // Last of all checks, as a limiter takes its name.
    this.limiter = limiterOf(options);
    this.handler = options.handler && withErrors(options.handler);
    this.#options = options;
    this.#host = host;
    this.#names = headerNames(this.limiter);
  }

  readonly check: (request: Req) => Awaitable<Verdict> = withErrors((request: Req) => {
    const trail = this.#trailOf(request);
    if (trail.charges.some(({ guard }) => guard === this)) return PASS;
    const { skip } = this.#options;
    if (skip === undefined) return this.#judge(request, trail);
    return then(skip(request), (skipped) => (skipped ? PASS : this.#judge(request, trail)));
  });

  #judge(request: Req, trail: Trail): Awaitable<Verdict> {
    const { cost = 1, limit } = this.#options;
    return then(this.#keyOf(request), (key) => {
      if (trail.charges.some((charge) => charge.limiter === this.limiter && charge.key === key)) return PASS;
      return then(typeof cost === 'function' ? cost(request) : cost, (units) => {
        checkCost(units);
        if (typeof limit !== 'function') return this.#consume(key, { cost: units }, trail);
        return then(limit(request), (own) => {
          checkLimit(own);
          return this.#consume(key, { cost: units, limit: own }, trail);
        });
      });
    });
  }

  #consume(key: string, options: RequestOptions, trail: Trail): Awaitable<Verdict> {
    return then(this.limiter.consume(key, options), (decision) => {
      trail.charges.push({ guard: this, limiter: this.limiter, key });
      const verdict = this.#verdictOf(decision, trail);
      return decision.delayMs === 0 ? verdict : sleep(decision.delayMs).then(() => verdict);
    });
  }

  #trailOf(request: Req): Trail {
    const raw = this.#host.raw(request);
    let trail = trails.get(raw);
    if (trail === undefined) {
      trail = { charges: [], items: [], binding: undefined };
      trails.set(raw, trail);
    }
    return trail;
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

  #verdictOf(decision: Decision, trail: Trail): Verdict {
    const names = distinctNames(this.#names, trail.items);
    // What was decided without the store is no quota that a client could count on.
    const silent = this.#formats.length === 0 || decision.degraded;
    const headers = silent ? [] : this.#tell(decision, names, trail);
    if (decision.allowed) return { decision, headers };

    headers.push(['Cache-Control', 'no-store']);
    if (this.handler === undefined) headers.push(['Content-Type', PROBLEM_TYPE]);
    const { retryAfterMs } = decision;
    if (Number.isNaN(retryAfterMs)) {
      return { decision, headers, denial: { status: 503, body: UNAVAILABLE_BODY } };
    }
    if (retryAfterMs !== Infinity)
      headers.push(['Retry-After', String(Math.max(1, secondsOf(retryAfterMs)))]);
    const violated = names.filter((_, i) => !decision.policies[i].allowed);
    return { decision, headers, denial: { status: 429, body: problemBody(violated, retryAfterMs) } };
  }

  /** Headers that tell of this decision and of those that other limiters made on the request before. */
  #tell(decision: Decision, names: readonly string[], trail: Trail): Header[] {
    // The instant of the decision: another one, a ms later, would round to another second now and then.
    const at = instantOf(decision) ?? Date.now();
    let binding: ToldItem | undefined;
    decision.policies.forEach((policy, i) => {
      if (policy.limit === Infinity) return;
      const denies = !policy.allowed && policy.retryAfterMs !== Infinity;
      const item = {
        ...policy,
        name: names[i],
        timeMs: denies ? policy.retryAfterMs : policy.resetMs,
        denies,
        at,
      };
      trail.items.push(item);
      if (policy.name === decision.policy) binding = item;
    });
    if (binding === undefined) return [];
    // Who denies speaks; else the one with the least left.
    const before = trail.binding;
    if (before === undefined || !decision.allowed || binding.remaining < before.remaining) {
      trail.binding = binding;
    }
    const items = trail.items.map((item) => ({ ...item, timeMs: item.timeMs - (at - item.at) }));
    return formatHeaders(this.#formats, items, items[trail.items.indexOf(trail.binding as ToldItem)], at);
  }
}

/** The policies' names in headers: the limiter's, the policy's where there are several, neither if it is the default. */
function headerNames({ name, policies }: Limiter): readonly string[] {
  if (policies.length === 1) return [name === 'default' ? policies[0].name : name];
  return policies.map((policy) => (name === 'default' ? policy.name : `${name}-${policy.name}`));
}

/** Nothing would mean that the limiter's own limits stand; what a name may stand for is the limiter's to check. */
function checkLimit(limit: unknown): void {
  if (typeof limit !== 'object' || limit === null) parseLimit(limit, 'limit', 'ERR_SLUICE_ARGUMENT');
}

function checkCost(cost: unknown): void {
  if (typeof cost !== 'number')
    throw expected('ERR_SLUICE_ARGUMENT', 'cost', 'an integer from 0 to 2^53 - 1', cost);
}
