/**
 * The end of a response: when it comes, and whether everything was sent by then.
 *
 * @module
 */

import type { ServerResponse } from 'node:http';
import type { Http2ServerResponse } from 'node:http2';
import { Duplex } from 'node:stream';

/** Node's own response, of HTTP/1.1 or of HTTP/2. */
export type RawResponse = ServerResponse | Http2ServerResponse;

/** What a client waits at: a response, or the socket of a request for an upgrade, which has none. */
export type Line = RawResponse | Duplex;

/** What waits for the end of a response. */
const waiting = new WeakMap<Line, Set<() => void>>();

/**
 * Calls `work` once when the response is over, whatever ended it; at once if it is over already. Returns what lets go
 * of `work`. However much waits for one response, it has one listener.
 */
export function whenOver(response: Line, work: () => void): () => void {
  if (isOver(response)) {
    work();
    return () => {};
  }
  const works = waiting.get(response) ?? listenTo(response);
  works.add(work);
  return () => works.delete(work);
}

/** Apart from the above: the listener would keep all that is to be let go of. */
function listenTo(response: Line): Set<() => void> {
  const works = new Set<() => void>();
  waiting.set(response, works);
  // Comes once, after `finish`, a lost connection or an error; those who ask later see that the response is over.
  response.once('close', () => {
    for (const work of works) work();
    works.clear();
  });
  return works;
}

/**
 * Whether there is nobody left to answer. Knows more than {@link whenOver} where requests are pipelined: of one that
 * waits behind another, Node does not tell when its client leaves.
 */
export function isOver(response: Line): boolean {
  if (isHttp2(response)) return response.stream.destroyed;
  return response.destroyed || ('req' in response && response.req?.socket?.destroyed === true);
}

/** Whether a response that is over was ended by the server, and sent. */
export function isComplete(response: RawResponse): boolean {
  if (!response.writableEnded) return false;
  // With HTTP/2, a reset is told of as the finish is, and one without an error has the code of the finish.
  if (isHttp2(response)) return response.stream.rstCode === 0 && response.stream.writableFinished;
  // Requests that are injected have a response that is never written out, and a connection that is never lost.
  return response.writableFinished || response.socket?.destroyed !== true;
}

/** Whether it is a response, which has a status, and no bare socket. What stands in for one in a test may have little. */
export function isResponse(line: Line): line is RawResponse {
  return !(line instanceof Duplex);
}

function isHttp2(response: Line): response is Http2ServerResponse {
  return 'stream' in response && response.stream !== undefined;
}
