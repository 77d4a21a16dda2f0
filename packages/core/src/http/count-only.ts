/**
 * Counting but some requests, which is known once they are answered: each is charged, and some are given back.
 *
 * @module
 */

import { expected, show } from '../errors.js';
import type { Limiter } from '../limiter.js';
import type { Decision } from '../types.js';
import { warnOnce } from '../warnings.js';
import type { Awaitable } from './awaitable.js';
import { isComplete, type RawResponse, whenOver } from './ending.js';
import { giveBack } from './give-back.js';

/**
 * Says whether a request counts, when its response is over.
 *
 * @param complete - whether all of the response was sent; if not, the client left or the server gave up.
 */
export type CountsFunction<Req> = (
  request: Req,
  response: RawResponse,
  complete: boolean,
) => Awaitable<boolean>;

/** Sees to it that an admitted request is given back if it turns out not to count. */
export type Count<Req> = (limiter: Limiter, decision: Decision, request: Req, response: RawResponse) => void;

/**
 * Which requests count by themselves. One whose client left counts in both: it made work, and whoever resets each
 * request would else never be limited.
 */
const BY_NAME: Readonly<Record<string, CountsFunction<unknown>>> = {
  failed: (_, { statusCode }, complete) => !complete || statusCode >= 400,
  succeeded: (_, { statusCode }, complete) => !complete || statusCode < 400,
};

/**
 * Returns what counts as the option says, if it says anything.
 *
 * @throws ArgumentError if it is wrong.
 */
export function counterOf<Req>(countOnly: unknown): Count<Req> | undefined {
  if (countOnly === undefined || countOnly === false) return undefined;
  if (typeof countOnly === 'function') {
    const counts = countOnly as CountsFunction<Req>;
    return (limiter, decision, request, response) => {
      whenOver(response, () => void judge(limiter, decision, counts, request, response));
    };
  }
  if (typeof countOnly !== 'string' || !Object.hasOwn(BY_NAME, countOnly)) {
    throw expected('ERR_SLUICE_OPTION', 'countOnly', '"failed", "succeeded", false or a function', countOnly);
  }
  const counts = BY_NAME[countOnly];
  return (limiter, decision, _, response) => waitWithout(limiter, decision, counts, response);
}

/** Apart from the above, so that a response that lasts for an hour does not keep the request. */
function waitWithout(
  limiter: Limiter,
  decision: Decision,
  counts: CountsFunction<unknown>,
  response: RawResponse,
): void {
  whenOver(response, () => void judge(limiter, decision, counts, undefined, response));
}

async function judge<Req>(
  limiter: Limiter,
  decision: Decision,
  counts: CountsFunction<Req>,
  request: Req,
  response: RawResponse,
): Promise<void> {
  // Whoever settles at the end of the response as well is to come first. By a promise: fake timers hold up other ways.
  await undefined;
  try {
    const counted: unknown = await counts(request, response, isComplete(response));
    if (typeof counted !== 'boolean')
      throw expected('ERR_SLUICE_ARGUMENT', 'countOnly', 'a boolean', counted);
    if (counted) return;
  } catch (error) {
    // The response is gone, and with it the framework's error path.
    const said = error instanceof Error ? error.message : show(error);
    warnOnce('SLUICE_COUNT_ONLY_FAILED', `countOnly failed, so the request counts: ${said}`);
    return;
  }
  await giveBack(limiter, decision);
}
