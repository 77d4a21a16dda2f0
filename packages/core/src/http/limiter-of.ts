/**
 * The limiter that the options of `rateLimit` describe.
 *
 * @module
 */

import { checkObject, isRecord, refuseUnknown } from '../check.js';
import { createLimiter } from '../create-limiter.js';
import { ArgumentError, expected, show } from '../errors.js';
import type { Limiter } from '../limiter.js';
import { POLICY_OPTIONS, parseLimit } from '../policy.js';
import type { Policy } from '../types.js';
import { CHOSEN, given, KNOWN, type LooseOptions, optionOf } from './options.js';

const CODE = 'ERR_SLUICE_OPTION';

/**
 * Returns the limiter that the options describe.
 *
 * @throws ArgumentError if an option is unknown or wrong, or contradicts another.
 */
export function limiterOf<Req, Handler>(options: LooseOptions<Req, Handler>): Limiter {
  checkObject(options, 'options', 'an object', CODE);
  refuseUnknown(options, KNOWN, 'rateLimit', CODE);
  checkFunctions(options);
  const { limit, limiter, policies, limits } = options;
  const own = POLICY_OPTIONS.filter((option) => option !== 'limit' && given(options, option));
  const place = ['limiter', 'limits', 'policies'].find((option) => given(options, option));
  if (place !== undefined) {
    if (limit !== undefined && typeof limit !== 'function') own.push('limit');
    const parts = { limiter: ['policies', 'limits', ...CHOSEN], limits: ['policies', 'key'], policies: [] };
    own.push(...parts[place as keyof typeof parts].filter((option) => given(options, option)));
    if (own.length > 0) {
      throw new ArgumentError(CODE, `Expected \`${own[0]}\` to be part of \`${place}\`, got it beside it.`);
    }
  }
  if (limiter !== undefined) {
    if (typeof limiter?.consume !== 'function') throw expected(CODE, 'limiter', 'a limiter', limiter);
    if ('kinds' in limiter) {
      const message =
        'Expected `limiter` to take one key, got one of keys of several kinds: give its limits as `limits`, each with its `key`.';
      throw new ArgumentError(CODE, message);
    }
    return limiter;
  }
  const chosen = CHOSEN.filter((option) => given(options, option));
  const what =
    limits === undefined ? { policies: policies ?? [lonePolicy(options)] } : { limits: withoutKeys(limits) };
  return createLimiter({
    ...Object.fromEntries(chosen.map((option) => [option, optionOf(options, option)])),
    ...what,
  } as Parameters<typeof createLimiter>[0]);
}

/** The limits as limiters take them, if each says how to find its key; what else is wrong they say. */
function withoutKeys(limits: unknown): unknown {
  if (!Array.isArray(limits)) return limits;
  limits.forEach((limit, i) => {
    const key: unknown = limit?.key;
    if (key === undefined || typeof key === 'function' || (typeof key === 'string' && key !== '')) return;
    throw expected(CODE, `limits[${i}].key`, 'a function of the request or a text', key);
  });
  const [one, other] = limits.filter((limit) => isRecord(limit) && limit.key === undefined);
  if (other !== undefined) {
    const message = `Expected \`key\` in all but one of \`limits\`, which is by address then, got none in ${show(one.name)} and ${show(other.name)}.`;
    throw new ArgumentError(CODE, message);
  }
  return limits.map((limit) => {
    if (!isRecord(limit)) return limit;
    const { key, ...rest } = limit;
    return rest;
  });
}

function lonePolicy<Req, Handler>(options: LooseOptions<Req, Handler>): Policy {
  if (!given(options, 'limit') && !given(options, 'window')) {
    const message =
      'Expected `limit` and `window`, or `policies`, or `limits`, or `limiter`, among the options, got none of them.';
    throw new ArgumentError(CODE, message);
  }
  const policy: Record<string, unknown> = {};
  for (const option of POLICY_OPTIONS) if (given(options, option)) policy[option] = optionOf(options, option);
  // Every request brings its own limit; should one ever get past without, this one admits nothing.
  if (typeof options.limit === 'function') policy.limit = 0;
  return policy as unknown as Policy;
}

function checkFunctions<Req, Handler>(options: LooseOptions<Req, Handler>): void {
  for (const option of ['key', 'skip', 'handler'] as const) {
    const value = options[option];
    if (value !== undefined && typeof value !== 'function') throw expected(CODE, option, 'a function', value);
  }
  const { cost, preflight = false } = options;
  if (typeof preflight !== 'boolean') throw expected(CODE, 'preflight', 'true or false', preflight);
  if (cost !== undefined && typeof cost !== 'function' && (!Number.isSafeInteger(cost) || cost < 0)) {
    throw expected(CODE, 'cost', 'an integer >= 0 or a function', cost);
  }
  if (options.limit !== undefined && typeof options.limit !== 'function')
    parseLimit(options.limit, 'limit', CODE);
}
