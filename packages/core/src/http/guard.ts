/**
 * From a request to a verdict: all that the frameworks' adapters share.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import { expected } from '../errors.js';
import type { Limiter, RequestOptions } from '../limiter.js';
import { perProcess } from '../per-process.js';
import { parseLimit } from '../policy.js';
import type { Decision } from '../types.js';
import { parseIpv6Prefix } from './address.js';
import { type Awaitable, sleep, then, withErrors } from './awaitable.js';
import { addressKeys } from './client-address.js';
import type { Header } from './headers.js';
import { type MemoryWatch, watchMemory } from './memory-watch.js';
import { type LooseOptions, limiterOf, type RateLimitOptions } from './options.js';
import { type Denial, type Refuse, refuserOf } from './refusal.js';
import { Teller, type Told, tellingOf } from './teller.js';

/** How to read a framework's request. */
export interface Host<Req> {
  /** Node's own request: it stands for the request wherever it is wrapped. */
  raw(request: Req): IncomingMessage;
  /** The client's address as the framework sees it, its own trust settings applied. */
  address(request: Req): string | undefined;
  /**
   * Whom the framework is set to believe about that, for warnings. May be asked many times; without it, nobody is warned.
   */
  trust?(request: Req): 'nobody' | 'some' | 'everyone';
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
  readonly told: Told;
}

const newTrails = () => new WeakMap<IncomingMessage, Trail>();

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
  readonly #teller: Teller;
  readonly #refuse: Refuse<Req>;
  readonly #addressKey: (request: Req) => string;
  readonly #trails: ReturnType<typeof newTrails> = perProcess('trails', newTrails);
  #watch: MemoryWatch | undefined;

  constructor(options: LooseOptions<Req, Handler>, host: Host<Req>) {
    const telling = tellingOf(options ?? {});
    this.#refuse = refuserOf(options ?? {});
    const ipv6Prefix = parseIpv6Prefix(options?.ipv6Prefix);
    // Last of all checks, as a limiter takes its name.
    this.limiter = limiterOf(options);
    this.handler = options.handler && withErrors(options.handler);
    this.#options = options;
    this.#host = host;
    this.#teller = new Teller(telling, this.limiter);
    this.#addressKey = addressKeys(host, ipv6Prefix);
    this.#watch = watchMemory(options);
  }

  readonly check: (request: Req) => Awaitable<Verdict> = withErrors((request: Req) => {
    const trail = this.#trailOf(request);
    if (trail.charges.some(({ guard }) => guard === this)) return PASS;
    if (this.#watch?.see(this.#host.raw(request)) === false) this.#watch = undefined;
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
        if (typeof limit !== 'function') return this.#consume(request, key, { cost: units }, trail);
        return then(limit(request), (own) => {
          checkLimit(own);
          return this.#consume(request, key, { cost: units, limit: own }, trail);
        });
      });
    });
  }

  #consume(request: Req, key: string, options: RequestOptions, trail: Trail): Awaitable<Verdict> {
    return then(this.limiter.consume(key, options), (decision) => {
      trail.charges.push({ guard: this, limiter: this.limiter, key });
      const verdict = this.#verdictOf(request, key, decision, trail);
      return decision.delayMs === 0 ? verdict : sleep(decision.delayMs).then(() => verdict);
    });
  }

  #trailOf(request: Req): Trail {
    const raw = this.#host.raw(request);
    let trail = this.#trails.get(raw);
    if (trail === undefined) {
      trail = { charges: [], told: { items: [], binding: undefined } };
      this.#trails.set(raw, trail);
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

  #verdictOf(request: Req, key: string, decision: Decision, { told }: Trail): Awaitable<Verdict> {
    const names = this.#teller.namesBeside(told);
    const headers = this.#teller.tell(decision, key, names, told);
    if (decision.allowed) return { decision, headers };
    const violated = names.filter((_, i) => !decision.policies[i].allowed);
    return then(this.#refuse(request, decision, violated, headers), (refusal) => ({ decision, ...refusal }));
  }
}

/** Nothing would mean that the limiter's own limits stand; what a name may stand for is the limiter's to check. */
function checkLimit(limit: unknown): void {
  if (typeof limit !== 'object' || limit === null) parseLimit(limit, 'limit', 'ERR_SLUICE_ARGUMENT');
}

function checkCost(cost: unknown): void {
  if (typeof cost !== 'number')
    throw expected('ERR_SLUICE_ARGUMENT', 'cost', 'an integer from 0 to 2^53 - 1', cost);
}
