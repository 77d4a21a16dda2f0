/**
 * How a denied request is refused: by the problem document, a body or a handler of the user's, or an error.
 *
 * @module
 */

import { ArgumentError, expected } from '../errors.js';
import type { Decision } from '../types.js';
import { type Awaitable, then } from './awaitable.js';
import { type BodyOption, contentFinder } from './body.js';
import type { Header } from './headers.js';
import { PROBLEM_TYPE, problemBody, problemDetail, retryAfterOf } from './problem.js';
import { RateLimitError } from './rate-limit-error.js';

/** How to refuse. The headers of the verdict go with it. */
export interface Denial {
  /** 429, or 503 where it is not the client's fault. */
  readonly status: number;
  /** What to send; empty where a handler or the framework's error path answers. */
  readonly body: string | Buffer;
  /** With `throw: true`, what to hand to the framework's error path in place of an answer. */
  readonly error?: RateLimitError;
}

/** A denial, and all headers of its response. */
interface Refusal {
  readonly headers: readonly Header[];
  readonly denial: Denial;
}

/** Why a request is refused: the names of the policies that deny it, or that no more can be held until their turn. */
export type Reason = readonly string[] | 'full';

/** Refuses a request; `told` is what headers tell of its limits. */
export type Refuse<Req> = (
  request: Req,
  decision: Decision,
  reason: Reason,
  told: readonly Header[],
) => Awaitable<Refusal>;

/** The options that choose who answers. */
interface AnswerOptions<Req> {
  readonly handler?: unknown;
  readonly body?: BodyOption<Req> | undefined;
  readonly contentType?: unknown;
  readonly throw?: unknown;
}

/**
 * Returns what refuses requests as the options say.
 *
 * @throws ArgumentError if an option is wrong, or more than one of them wants to answer.
 */
export function refuserOf<Req>(options: AnswerOptions<Req>): Refuse<Req> {
  const { handler, body, contentType, throw: throws = false } = options;
  if (typeof throws !== 'boolean') throw expected('ERR_SLUICE_OPTION', 'throw', 'true or false', throws);
  const answers = { handler: handler !== undefined, body: body !== undefined, throw: throws };
  const [one, other] = Object.entries(answers).flatMap(([name, chosen]) => (chosen ? [name] : []));
  if (other !== undefined) {
    const message = `Expected one of \`handler\`, \`body\` and \`throw\`, got \`${one}\` and \`${other}\`.`;
    throw new ArgumentError('ERR_SLUICE_OPTION', message);
  }
  const findContent = contentFinder(body, contentType);

  return (request, decision, reason, told) => {
    const full = reason === 'full';
    // After that, what was before it has left its queue, and it need not be held.
    const retryAfterMs = full ? decision.delayMs : decision.retryAfterMs;
    const blockedBy = decision.block?.by;
    const status = full || Number.isNaN(retryAfterMs) ? 503 : 429;
    const headers: Header[] = [...told, ['Cache-Control', 'no-store']];
    if (Number.isFinite(retryAfterMs)) headers.push(['Retry-After', String(retryAfterOf(retryAfterMs))]);
    if (handler !== undefined) return { headers, denial: { status, body: '' } };
    if (throws) {
      const message = problemDetail(status, retryAfterMs, blockedBy);
      const error = new RateLimitError(message, status, headers, decision);
      return { headers, denial: { status, body: '', error } };
    }
    const problem = () => ({
      type: PROBLEM_TYPE,
      body: problemBody(status, full ? [] : reason, retryAfterMs, blockedBy),
    });
    // What the user says to who is over the limit, nobody knows to be true of a 503.
    const own = status === 429 ? findContent?.(request, decision) : undefined;
    return then(own, (content = problem()) => {
      headers.push(['Content-Type', content.type]);
      return { headers, denial: { status, body: content.body } };
    });
  };
}
