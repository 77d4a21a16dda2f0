/**
 * From a request to a verdict: all that the frameworks' adapters share.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import { expected } from '../errors.js';
import type { Limiter, RequestOptions } from '../limiter.js';
import { parseLimit } from '../policy.js';
import type { Decision } from '../types.js';
import { parseIpv6Prefix } from './address.js';
import { type Awaitable, isThenable, then, withErrors } from './awaitable.js';
import { ClientAddresses } from './client-address.js';
import { type Count, counterOf } from './count-only.js';
import { isResponse, type Line } from './ending.js';
import { giveBack } from './give-back.js';
import type { Header } from './headers.js';
import { type MemoryWatch, watchMemory } from './memory-watch.js';
import { type LooseOptions, limiterOf, type RateLimitOptions } from './options.js';
import { isPreflight } from './preflight.js';
import { Queue } from './queue.js';
import { type Denial, type Reason, type Refuse, refuserOf } from './refusal.js';
import { nothingTold, Teller, type Told, tellingOf } from './teller.js';

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
  /** `true` where the client left while the request was held: there is nobody to answer, and nothing to be done. */
  readonly gone?: boolean;
}

/** Judges requests. Answers at once where nothing it asks needs waiting for. */
export interface Guard<Req, Handler = unknown> {
  readonly limiter: Limiter;
  /** The user's own answer to a denied request, if there is one. */
  readonly handler: Handler | undefined;
  /**
   * @param response - Node's own, or the socket of an upgrade. Without it, nobody learns when the request is over: it
   *   counts whatever comes of it, and is held though its client leaves.
   * @throws whatever the user's functions throw, if it is an error; nothing is charged then.
   * @throws StoreError if the store failed and the limiter's `onStoreError` is `'throw'`.
   */
  check(request: Req, response?: Line): Awaitable<Verdict>;
}

const PASS: Verdict = { headers: [] };
const GONE: Verdict = { headers: [], gone: true };

/** What one guard has done about a request. */
interface Judged {
  readonly guard: object;
  readonly limiter: Limiter;
  readonly key: string;
  readonly charged: boolean;
  readonly before: Judged | undefined;
}

/** What became of a request so far. */
interface Trail extends Told {
  last: Judged | undefined;
}

/** A request on its way through a guard. */
interface Visit<Req> {
  readonly request: Req;
  readonly response: Line | undefined;
  readonly trail: Trail;
  /** The key of its address, read before anything was waited for. */
  readonly address: string | undefined;
}

/** Registered, so that other copies of the package find the same. A property, as a WeakMap costs more than deciding. */
const TRAIL: unique symbol = Symbol.for('sluice.trail') as never;

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
  readonly #count: Count<Req> | undefined;
  readonly #queue: Queue;
  /** What every request brings along, where that is the same for all. */
  readonly #fixed: RequestOptions | undefined;
  readonly #addresses: ClientAddresses<Req>;
  #watch: MemoryWatch | undefined;

  constructor(options: LooseOptions<Req, Handler>, host: Host<Req>) {
    const telling = tellingOf(options ?? {});
    this.#refuse = refuserOf(options ?? {});
    this.#count = counterOf(options?.countOnly);
    this.#queue = new Queue(options?.maxHeld);
    const ipv6Prefix = parseIpv6Prefix(options?.ipv6Prefix);
    // Last of all checks, as a limiter takes its name.
    this.limiter = limiterOf(options);
    this.handler = options.handler && withErrors(options.handler);
    this.#options = options;
    this.#fixed = fixedOf(options);
    this.#host = host;
    this.#teller = new Teller(telling, this.limiter);
    this.#addresses = new ClientAddresses(host, ipv6Prefix);
    this.#watch = watchMemory(options);
  }

  readonly check: Guard<Req>['check'] = withErrors((request: Req, response?: Line) => {
    const raw = this.#host.raw(request);
    if (this.#options.preflight !== true && isPreflight(raw)) return PASS;
    const trail = trailOf(raw);
    const { skip, key } = this.#options;
    // With a key of the user's, the second time may be another's turn.
    if (key === undefined && hasJudged(trail, this)) return PASS;
    if (this.#watch?.see(raw) === false) this.#watch = undefined;
    // As long as it is there: after a wait it may not be.
    const address = skip === undefined && key === undefined ? undefined : this.#addresses.seen(request);
    const visit = { request, response, trail, address };
    if (skip === undefined) return this.#judge(visit);
    return then(skip(request), (skipped) => (isSkipped(skipped) ? PASS : this.#judge(visit)));
  });

  #judge(visit: Visit<Req>): Awaitable<Verdict> {
    const key = this.#keyOf(visit);
    return isThenable(key)
      ? Promise.resolve(key).then((own) => this.#judgeKey(visit, own))
      : this.#judgeKey(visit, key);
  }

  #judgeKey(visit: Visit<Req>, key: string | undefined): Awaitable<Verdict> {
    if (key === undefined) return GONE;
    if (hasJudged(visit.trail, this, key) || hasCharged(visit.trail, this.limiter, key)) return PASS;
    // Nothing is made for most requests that could be made once, and no function: that took longer than deciding.
    if (this.#fixed !== undefined) return this.#consume(visit, key, this.#fixed);
    const { cost = 1, limit } = this.#options;
    return then(typeof cost === 'function' ? cost(visit.request) : cost, (units) => {
      checkCost(units);
      if (typeof limit !== 'function') return this.#consume(visit, key, { cost: units });
      return then(limit(visit.request), (own) => {
        checkLimit(own);
        return this.#consume(visit, key, { cost: units, limit: own });
      });
    });
  }

  #consume(visit: Visit<Req>, key: string, options: RequestOptions): Awaitable<Verdict> {
    const decision = this.limiter.consume(key, options);
    return isThenable(decision)
      ? decision.then((later) => this.#tell(visit, key, later))
      : this.#tell(visit, key, decision);
  }

  #tell(visit: Visit<Req>, key: string, decision: Decision): Awaitable<Verdict> {
    const { trail } = visit;
    trail.last = { guard: this, limiter: this.limiter, key, charged: decision.allowed, before: trail.last };
    const names = this.#teller.namesBeside(trail);
    const headers = this.#teller.tell(decision, key, names, trail);
    if (!decision.allowed) {
      const violated = names.filter((_, i) => !decision.policies[i].allowed);
      return this.#deny(visit, decision, headers, violated);
    }
    return decision.delayMs > 0
      ? this.#hold(visit, decision, headers)
      : this.#admit(visit, decision, headers);
  }

  #admit({ request, response }: Visit<Req>, decision: Decision, headers: Header[]): Verdict {
    if (this.#count !== undefined && response !== undefined && isResponse(response)) {
      this.#count(this.limiter, decision, request, response);
    }
    return { decision, headers };
  }

  /** Holds a request until its turn comes. What is not served is given back, as far as nobody queued behind it. */
  #hold(visit: Visit<Req>, decision: Decision, headers: Header[]): Awaitable<Verdict> {
    const held = this.#queue.hold(visit.response, decision.delayMs);
    if (held === undefined) {
      giveBack(this.limiter, decision);
      return this.#deny(visit, decision, headers, 'full');
    }
    return held.then((how) => {
      if (how === 'turn') return this.#admit(visit, decision, headers);
      giveBack(this.limiter, decision);
      return GONE;
    });
  }

  #deny({ request }: Visit<Req>, decision: Decision, headers: Header[], why: Reason): Awaitable<Verdict> {
    return then(this.#refuse(request, decision, why, headers), (refusal) => ({ decision, ...refusal }));
  }

  /** `undefined` if nobody is there any more who could be told from others. */
  #keyOf({ request, address }: Visit<Req>): Awaitable<string | undefined> {
    const { key } = this.#options;
    if (key === undefined) return this.#addresses.keyOf(request, address);
    return then(key(request), (own) => {
      // Nobody is called nothing: an empty text is what frameworks make of a header that was not sent.
      if (own === undefined || own === null || own === '') return this.#addresses.keyOf(request, address);
      if (typeof own !== 'string')
        throw expected('ERR_SLUICE_ARGUMENT', 'key', 'a string, undefined or null', own);
      return own;
    });
  }
}

function trailOf(raw: IncomingMessage & { [TRAIL]?: Trail }): Trail {
  raw[TRAIL] ??= { last: undefined, ...nothingTold() };
  return raw[TRAIL];
}

/** Whether the guard has judged the request; by that key, if one is given. */
function hasJudged({ last }: Trail, guard: object, key?: string): boolean {
  for (let each = last; each !== undefined; each = each.before) {
    if (each.guard === guard && (key === undefined || each.key === key)) return true;
  }
  return false;
}

/** Whether the limiter has charged the key: what it denied, another guard may deny again. */
function hasCharged({ last }: Trail, limiter: Limiter, key: string): boolean {
  for (let each = last; each !== undefined; each = each.before) {
    if (each.charged && each.limiter === limiter && each.key === key) return true;
  }
  return false;
}

function fixedOf({
  cost = 1,
  limit,
}: {
  readonly cost?: unknown;
  readonly limit?: unknown;
}): RequestOptions | undefined {
  return typeof cost === 'number' && typeof limit !== 'function' ? { cost } : undefined;
}

/** What is neither yes nor no must not take the limit off. */
function isSkipped(value: unknown): boolean {
  if (typeof value === 'boolean' || value === undefined || value === null) return value === true;
  throw expected('ERR_SLUICE_ARGUMENT', 'skip', 'a function that returns true or false', value);
}

/** Nothing would mean that the limiter's own limits stand; what a name may stand for is the limiter's to check. */
function checkLimit(limit: unknown): void {
  if (typeof limit !== 'object' || limit === null) parseLimit(limit, 'limit', 'ERR_SLUICE_ARGUMENT');
}

function checkCost(cost: unknown): void {
  if (typeof cost !== 'number')
    throw expected('ERR_SLUICE_ARGUMENT', 'cost', 'an integer from 0 to 2^53 - 1', cost);
}
