/**
 * Waiting for a place in place of being refused: what a request may ask for, and how it ends.
 *
 * @module
 */

import { isRecord, refuseUnknown } from './check.js';
import { LONGEST_DURATION, parseDuration } from './duration.js';
import { AcquireError, expected } from './errors.js';
import type { AcquireOptions, RequestOptions } from './limiter.js';
import { sleep } from './sleep.js';
import type { Decision, DecisionBlock } from './types.js';

const CODE = 'ERR_SLUICE_ARGUMENT';

/** The options of one request, checked as far as they are about waiting. */
export interface Waiting {
  readonly request: RequestOptions;
  readonly mostWaitMs: number;
  readonly signal: AbortSignal | undefined;
}

/** @throws ArgumentError if they are none. */
export function parseWaiting(options: AcquireOptions | undefined): Waiting {
  if (options === undefined) return { request: {}, mostWaitMs: LONGEST_DURATION, signal: undefined };
  if (!isRecord(options)) throw expected(CODE, 'options', 'an object', options);
  const { cost, limit, maxWait, signal }: AcquireOptions = options;
  refuseUnknown(options, ['cost', 'limit', 'maxWait', 'signal'], 'acquire', CODE);
  if (signal !== undefined && !isSignal(signal)) {
    throw expected(CODE, 'signal', 'an AbortSignal', signal);
  }
  const mostWaitMs =
    maxWait === undefined ? LONGEST_DURATION : maxWait === 0 ? 0 : parseDuration(maxWait, 'maxWait', CODE);
  return { request: { cost, limit }, mostWaitMs, signal };
}

/** Returns why the request that was decided got no place, `undefined` if it has one. */
export function refusalOf(decision: Decision, { mostWaitMs }: Waiting): AcquireError | undefined {
  const { allowed, delayMs, retryAfterMs, cost, policy, limit, block } = decision;
  if (allowed && delayMs <= mostWaitMs) return undefined;
  if (block !== undefined) return blockedError(decision, block);
  if (retryAfterMs === Infinity) {
    return new AcquireError(
      'ERR_SLUICE_NEVER',
      `Expected \`cost\` to be at most ${limit}, which \`${policy}\` admits at once, got ${cost}: waiting does not help.`,
      decision,
    );
  }
  const wait = Number.isNaN(retryAfterMs)
    ? 'nobody knows how long while the store fails'
    : `at least ${allowed ? delayMs : retryAfterMs} ms`;
  return new AcquireError(
    'ERR_SLUICE_WAIT',
    `Expected to wait${mostWaitMs < LONGEST_DURATION ? ` at most ${mostWaitMs} ms (\`maxWait\`)` : ''} for \`${policy}\`, got ${wait}.`,
    decision,
  );
}

/** Who is blocked gets no place, however long they would wait. */
function blockedError(decision: Decision, { policy, by }: DecisionBlock): AcquireError {
  const { retryAfterMs } = decision;
  const whose = by === 'hand' ? 'by hand' : `by \`${policy}\``;
  const [code, end] =
    retryAfterMs === Infinity
      ? (['ERR_SLUICE_NEVER', 'until it is unblocked'] as const)
      : (['ERR_SLUICE_WAIT', `and admitted in ${retryAfterMs} ms at the earliest`] as const);
  return new AcquireError(
    code,
    `Expected a key that is not blocked, got one that is, ${whose}, ${end}.`,
    decision,
  );
}

/**
 * Resolves when the request may go on, as long after it was decided as its delay says.
 *
 * @param giveBack - gives its place back when it does not wait any more.
 * @throws the signal's reason when that is aborted before.
 */
export async function untilTurn(
  { delayMs }: Decision,
  signal: AbortSignal | undefined,
  giveBack: () => void | Promise<void>,
): Promise<void> {
  if (await sleep(delayMs, signal)) return;
  try {
    await giveBack();
  } catch {
    // The store fails, or the limiter is closed: the place stays taken until its time is over.
  }
  throw signal?.reason;
}

/** Also one of another realm, or of a library. */
function isSignal(signal: unknown): signal is AbortSignal {
  const { addEventListener, throwIfAborted } = (signal ?? {}) as Partial<AbortSignal>;
  return typeof addEventListener === 'function' && typeof throwIfAborted === 'function';
}
