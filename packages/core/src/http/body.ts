/**
 * What a denied client reads where the user has a text of their own.
 *
 * @module
 */

import { types } from 'node:util';
import { expected } from '../errors.js';
import type { Decision } from '../types.js';
import { type Awaitable, isThenable, then } from './awaitable.js';

/** Text, bytes, or anything else that is sent as JSON. */
export type DenialBody = string | object;

/** A body, or a function that returns one; `undefined` or `null` means: the problem document. */
export type BodyOption<Req> =
  | DenialBody
  | ((request: Req, decision: Decision) => Awaitable<DenialBody | null | undefined>);

/** A body as it is sent, and its media type. */
interface Content {
  readonly type: string;
  readonly body: string | Buffer;
}

/** What finds the content of an answer; `undefined` if it is to be the problem document. */
export type FindContent<Req> = (request: Req, decision: Decision) => Awaitable<Content | undefined>;

const WHAT = 'text, bytes or an object that JSON can hold';

/**
 * Returns what finds the user's own content, or `undefined` if they have none.
 *
 * @throws ArgumentError if it is no body, or the type no media type, or a type without a body.
 */
export function contentFinder<Req>(
  body: BodyOption<Req> | undefined,
  contentType: unknown,
): FindContent<Req> | undefined {
  const type = parseType(contentType);
  if (body === undefined) {
    if (type === undefined) return undefined;
    throw expected('ERR_SLUICE_OPTION', 'body', 'given with `contentType`', body);
  }
  if (typeof body !== 'function') {
    const content = contentOf(body, type);
    if (content === undefined) throw expected('ERR_SLUICE_OPTION', 'body', `${WHAT}, or a function`, body);
    return () => content;
  }
  return (request, decision) =>
    then(body(request, decision), (own) => {
      if (own === undefined || own === null) return undefined;
      const content = contentOf(own, type);
      if (content === undefined) {
        throw expected('ERR_SLUICE_ARGUMENT', 'body', `${WHAT}, undefined or null`, own);
      }
      return content;
    });
}

/** Returns `undefined` if it is no body. */
function contentOf(body: unknown, type: string | undefined): Content | undefined {
  if (typeof body === 'string') return { type: type ?? 'text/plain; charset=utf-8', body };
  if (typeof body !== 'object' || body === null) return undefined;
  const bytes = bytesOf(body);
  if (bytes !== undefined) return { type: type ?? 'application/octet-stream', body: bytes };
  const json = jsonOf(body);
  return json === undefined ? undefined : { type: type ?? 'application/json', body: json };
}

function bytesOf(body: object): Buffer | undefined {
  if (ArrayBuffer.isView(body)) return Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  return types.isAnyArrayBuffer(body) ? Buffer.from(body) : undefined;
}

/** `undefined` where there is none, as of what contains itself, is yet to come, or keeps what it has from JSON. */
function jsonOf(value: object): string | undefined {
  if (isThenable(value)) return undefined;
  try {
    const json: string | undefined = JSON.stringify(value);
    return json === '{}' && !isPlain(value) ? undefined : json;
  } catch {
    return undefined;
  }
}

/** Whether it is an object by itself, of whatever realm, and no Map, Set, Blob or the like. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** A media type (RFC 9110, section 8.3.1), with any parameters, that can stand in a header and ends in no `;`. */
function parseType(type: unknown): string | undefined {
  if (type === undefined) return undefined;
  if (typeof type !== 'string' || !/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+( *;[ -~]*[!-:<-~] *)?$/.test(type)) {
    throw expected('ERR_SLUICE_OPTION', 'contentType', 'a media type', type);
  }
  return type;
}
