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

/** Responses that were sent, and whose end nobody tells of. */
const sent = new WeakSet<Line>();

/**
 * Calls `work` once when the response is over, whatever ended it; at once if it is over already. Returns what lets go
 * of `work`. However much waits for one response, it has one listener for each event that may be the end.
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

/** Apart from the above: the listeners would keep all that is to be let go of. */
function listenTo(response: Line): Set<() => void> {
  const works = new Set<() => void>();
  waiting.set(response, works);
  let over = false;
  let stopWatching = () => {};
  const end = () => {
    // Once, whatever else comes.
    if (over) return;
    over = true;
    stopWatching();
    for (const work of works) work();
    works.clear();
  };
  // Comes once, after `finish`, a lost connection or an error; those who ask later see that the response is over.
  response.once('close', end);
  const connection = connectionAhead(response);
  if (connection !== undefined) stopWatching = whenOver(connection, end);
  if (isResponse(response) && !isHttp2(response)) {
    // Where there is no real connection, as on AWS Lambda and in tests, this may be all that comes.
    response.once('finish', () => {
      // `close` would come before: whoever settles then is to come first.
      setImmediate(() => {
        if (!over) sent.add(response);
        end();
      });
    });
  }
  return works;
}

/**
 * The connection of a request that is pipelined behind another: Node gives it to a response only when its turn comes,
 * and to those that have none it tells nothing when the client leaves. The request's own `close` would not do: it comes
 * once its body was read, and not again.
 */
function connectionAhead(response: Line): Duplex | undefined {
  if (!isResponse(response) || isHttp2(response) || response.socket !== null) return undefined;
  const connection: unknown = response.req?.socket;
  return connection instanceof Duplex ? connection : undefined;
}

/** Whether there is nobody left to answer. */
export function isOver(response: Line): boolean {
  if (sent.has(response)) return true;
  if (isHttp2(response)) return response.stream.destroyed;
  return response.destroyed || ('req' in response && response.req?.socket?.destroyed === true);
}

/** Whether a response that is over was ended by the server, and sent. */
export function isComplete(response: RawResponse): boolean {
  // Of those, some do not say themselves that they were ended.
  if (sent.has(response)) return true;
  if (!response.writableEnded) return false;
  // With HTTP/2, a reset is told of as the finish is, and one without an error has the code of the finish.
  if (isHttp2(response)) return response.stream.rstCode === 0 && response.stream.writableFinished;
  // Requests that are injected have a response that is never written out, and a connection that is never lost.
  return response.writableFinished || (response.socket ?? response.req?.socket)?.destroyed !== true;
}

/** Whether it is a response, which has a status, and no bare socket. What stands in for one in a test may have little. */
export function isResponse(line: Line): line is RawResponse {
  return !(line instanceof Duplex);
}

function isHttp2(response: Line): response is Http2ServerResponse {
  return 'stream' in response && response.stream !== undefined;
}
