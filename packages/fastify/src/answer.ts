/**
 * From a verdict to a reply.
 *
 * @module
 */

import type { Decision } from '@sluice/core';
import { exposeHeaders, type Guard, type Verdict } from '@sluice/core/http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { DenialHandler } from './index.js';

/** Does what the verdict says, and returns whether the request goes on. It throws what is to be an error. */
export function answer(
  { handler }: Guard<FastifyRequest, DenialHandler>,
  { decision, headers, denial, gone }: Verdict,
  request: FastifyRequest,
  reply: FastifyReply,
  begun: boolean,
  done: (error: Error) => void,
): boolean {
  // Nobody is there, and Fastify is to know that nothing comes.
  if (gone) reply.hijack();
  // Something else may have answered while the store was asked.
  if (gone || reply.sent || reply.raw.writableEnded || (reply.raw.headersSent && !begun)) return false;
  if (decision !== undefined) request.rateLimit = decision;
  // A head that was sent before tells nothing more.
  if (begun) {
    if (denial?.error !== undefined) throw denial.error;
    if (denial !== undefined) reply.raw.end();
    return denial === undefined;
  }
  for (const [name, value] of headers) reply.header(name, value);
  exposeHeaders(request, reply.raw, headers);
  if (denial === undefined || decision === undefined) return true;
  if (denial.error !== undefined) throw denial.error;
  // Not by reply.code, which redirects and errors would then keep.
  reply.raw.statusCode = denial.status;
  if (handler === undefined) reply.send(denial.body);
  else void call(handler, request, reply, decision, done);
  return false;
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
