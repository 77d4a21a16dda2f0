/**
 * From a verdict to a reply.
 *
 * @module
 */

import type { Decision } from '@sluice/core';
import { exposeHeaders, type Guard, type Verdict } from '@sluice/core/http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DenialHandler } from './index.js';

/**
 * Does what the verdict says, and returns whether the request goes on. It throws what is to be an error.
 *
 * @param begun - whether the head had been sent before: then it can be told no more.
 */
export function answer(
  { handler }: Guard<FastifyRequest, DenialHandler>,
  { decision, headers, denial, gone }: Verdict,
  begun: boolean,
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error: Error) => void,
): boolean {
  const { raw } = reply;
  // Nobody is there, and Fastify is to know that nothing comes.
  if (gone) reply.hijack();
  // Something else may have answered before, or meanwhile.
  if (gone || reply.sent || raw.writableEnded || (raw.headersSent && !begun)) return false;
  if (decision !== undefined) request.rateLimit = decision;
  if (!begun) {
    for (const [name, value] of headers) reply.header(name, value);
    exposeHeaders(request.raw, raw, headers);
  }
  if (denial === undefined || decision === undefined) return true;
  if (denial.error !== undefined) throw denial.error;
  if (begun) {
    raw.end();
    return false;
  }
  // Not by reply.code, which redirects and errors would then keep.
  raw.statusCode = denial.status;
  if (handler === undefined) reply.send(denial.body);
  else void call(handler, request, reply, decision, done);
  return false;
}

/** Does the same with a verdict that came later; `done` goes on, or has the error. */
export function answerLater(
  guard: Guard<FastifyRequest, DenialHandler>,
  verdict: PromiseLike<Verdict>,
  begun: boolean,
  request: FastifyRequest,
  reply: FastifyReply,
  done: (error?: Error) => void,
): void {
  const answered = verdict.then((settled) => answer(guard, settled, begun, request, reply, done));
  // What is thrown further on is not to come back here.
  answered.then((goesOn) => goesOn && done(), done);
}

/** As with routes: one that is not async and returns nothing sends by itself. */
async function call(
  handler: DenialHandler,
  request: FastifyRequest,
  reply: FastifyReply,
  decision: Decision,
  done: (error: Error) => void,
): Promise<void> {
  try {
    const answered = handler(request, reply, decision);
    if (answered === undefined) return;
    const payload = await answered;
    if (!reply.sent) reply.send(payload);
  } catch (error) {
    done(error as Error);
  }
}
