/**
 * From a request to a verdict: all that the frameworks' adapters share.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import { JointLimiter } from '../joint-limiter.js';
import type { Limiter, RequestOptions } from '../limiter.js';
import type { Decision } from '../types.js';
import { parseIpv6Prefix } from './address.js';
import { checkCost, checkLimit, isSkipped, keyFrom } from './asked.js';
import { type Awaitable, isThenable, then, withErrors } from './awaitable.js';
import { ClientAddresses } from './client-address.js';
import { type Count, counterOf } from './count-only.js';
import { isResponse, type Line } from './ending.js';
import { giveBack } from './give-back.js';
import type { Header } from './headers.js';
import { JointKeys } from './joint-keys.js';
import { limiterOf } from './limiter-of.js';
import { type MemoryWatch, watchMemory } from './memory-watch.js';
import type { KeyFunction, LooseOptions, RateLimitOptions } from './options.js';
import { isPreflight } from './preflight.js';
import { Queue } from './queue.js';
import { type Denial, type Reason, type Refuse, refuserOf } from './refusal.js';
import { Teller, tellingOf } from './teller.js';
import { hasCharged, hasJudged, leaveTrail, placeOn, type Step, trailOn } from './trail.js';

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
  /** The one that decides. Of `limits`, it takes an object of keys by their kind. */
  readonly limiter: Limiter;
  /** The user's own answer to a denied request, if there is one. */
  readonly handler: Handler | undefined;
  /**
   * Judges a request, once: asked again, it has nothing to say.
   *
   * @param response - Node's own, or the socket of an upgrade. Without it, nobody learns when the request is over: it
   *   counts whatever comes of it, and is held though its client leaves.
   * @throws whatever the user's functions throw, if it is an error; nothing is charged then.
   * @throws StoreError if the store failed and the limiter's `onStoreError` is `'throw'`.
   */
  check(request: Req, response?: Line): Awaitable<Verdict>;
}

const PASS: Verdict = { headers: [] };
const GONE: Verdict = { headers: [], gone: true };

/** A request on its way through a guard. */
interface Visit<Req> {
  readonly request: Req;
  /** Where its trail stands. */
  readonly place: object;
  readonly response: Line | undefined;
  /** What was done about it before, as far as this visit has seen: reading it once more costs, in Express. */
  trail: Step | undefined;
  /** The key of its address, read before anything was waited for. */
  readonly address: string | undefined;
}

/**
 * Returns a guard for the requests of one framework: what the adapters are made of.
 *
 * @throws ArgumentError if an option is wrong.
 *
 * @example
 * import { createServer, type IncomingMessage } from 'node:http';
 * import { createGuard, setHeaders } from '@sluice/core/http';
 * const guard = createGuard({ limit: 100, window: '1m' }, {
 *   raw: (request: IncomingMessage) => request,
 *   address: (request) => request.socket.remoteAddress,
 * });
 * createServer(async (request, response) => {
 *   const { headers, denial, gone } = await guard.check(request, response);
 *   if (gone || !setHeaders(request, response, headers)) return;
 *   response.statusCode = denial?.status ?? 200;
 *   response.end(denial?.body ?? 'hello');
 * });
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
  /** Where a request is limited by keys of several kinds: one text stands for all. */
  readonly #joint: JointKeys<Req> | undefined;
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
    const { limiter }: { readonly limiter: object } = this;
    const joint = limiter instanceof JointLimiter ? new JointKeys(limiter, options.limits ?? []) : undefined;
    this.#joint = joint;
    this.#teller = new Teller(telling, this.limiter, joint && ((id, place) => joint.keyAt(id, place)));
    this.#addresses = new ClientAddresses(host, ipv6Prefix);
    this.#watch = watchMemory(options);
  }

  readonly check: Guard<Req>['check'] = withErrors((request: Req, response?: Line) => {
    const raw = this.#host.raw(request);
    if (this.#options.preflight !== true && isPreflight(raw)) return PASS;
    const place = placeOn(raw);
    const trail = trailOn(place);
    const { skip } = this.#options;
    const byAddress = this.#options.key === undefined && this.#joint === undefined;
    // With a key of the user's, the second time may be another's turn.
    if (byAddress && hasJudged(trail, this)) return PASS;
    if (this.#watch?.see(raw) === false) this.#watch = undefined;
    // As long as it is there: after a wait it may not be.
    const address = skip === undefined && byAddress ? undefined : this.#addresses.seen(request);
    const visit = { request, place, response, trail, address };
    if (skip === undefined) return this.#judge(visit);
    return then(skip(request), (skipped) => (isSkipped(skipped) ? PASS : this.#judge(afterOthers(visit))));
  });

  #judge(visit: Visit<Req>): Awaitable<Verdict> {
    if (this.#joint !== undefined) return this.#judgeJoint(visit, this.#joint);
    if (this.#options.key === undefined) return this.#judgeKey(visit, this.#keyOfAddress(visit));
    return then(this.#keyOf(visit, this.#options.key), (key) => this.#judgeKey(afterOthers(visit), key));
  }

  /** By the keys of all kinds but those that were charged before. */
  #judgeJoint(visit: Visit<Req>, joint: JointKeys<Req>): Awaitable<Verdict> {
    return then(
      joint.keysOf(visit.request, () => this.#keyOfAddress(visit)),
      (keys) => {
        if (keys === undefined) return GONE;
        const id = joint.idOf(keys, afterOthers(visit).trail);
        return id === undefined ? PASS : this.#judgeKey(visit, id);
      },
    );
  }

  #judgeKey(visit: Visit<Req>, key: string | undefined): Awaitable<Verdict> {
    if (key === undefined) return GONE;
    if (hasJudged(visit.trail, this, key) || hasCharged(visit.trail, this.limiter, key)) return PASS;
    // Nothing is made for most requests that could be made once, and no function: that took longer than deciding.
    if (this.#fixed !== undefined) return this.#consume(visit, key, this.#fixed);
    const { cost = 1, limit } = this.#options;
    return then(typeof cost === 'function' ? cost(visit.request) : cost, (units) => {
      checkCost(units);
      if (typeof limit !== 'function') return this.#consume(afterOthers(visit), key, { cost: units });
      return then(limit(visit.request), (own) => {
        checkLimit(own);
        return this.#consume(afterOthers(visit), key, { cost: units, limit: own });
      });
    });
  }

  #consume(visit: Visit<Req>, key: string, options: RequestOptions): Awaitable<Verdict> {
    const decision =
      this.#joint === undefined
        ? this.limiter.consume(key, options)
        : this.#joint.limiter.consumeById(key, options);
    return isThenable(decision)
      ? decision.then((later) => this.#tell(afterOthers(visit), key, later))
      : this.#tell(visit, key, decision);
  }

  #tell(visit: Visit<Req>, key: string, decision: Decision): Awaitable<Verdict> {
    const { place, trail: before } = visit;
    const told = this.#teller.tell(decision, key, before?.told);
    const headers = this.#teller.headersOf(told);
    leaveTrail(place, {
      guard: this,
      limiter: this.limiter,
      key,
      decision,
      told: told ?? before?.told,
      before,
    });
    if (decision.allowed && decision.delayMs > 0) return this.#hold(visit, decision, headers);
    if (decision.allowed) return this.#admit(visit, decision, headers);
    const names = this.#teller.namesBeside(before?.told);
    const violated = names.filter((_, i) => !decision.policies[i].allowed);
    return this.#deny(visit, decision, headers, violated);
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

  #keyOf(visit: Visit<Req>, key: KeyFunction<Req>): Awaitable<string | undefined> {
    return then(key(visit.request), (own) => keyFrom(own) ?? this.#keyOfAddress(visit));
  }

  /** `undefined` if nobody is there any more who could be told from others. */
  #keyOfAddress({ request, address }: Visit<Req>): string | undefined {
    return this.#addresses.keyOf(request, address);
  }
}

/** While a function of the user's ran, or something was waited for, another guard may have judged the request. */
function afterOthers<V extends Visit<unknown>>(visit: V): V {
  visit.trail = trailOn(visit.place);
  return visit;
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
