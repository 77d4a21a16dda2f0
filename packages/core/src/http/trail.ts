/**
 * What was done about a request before: the same limit may stand in its way more than once.
 *
 * @module
 */

import { IncomingMessage } from 'node:http';
import type { Limiter } from '../limiter.js';
import type { Decision } from '../types.js';
import type { Told } from './teller.js';

/** What one guard has done about a request, and, behind it, what others did before. */
export interface Step {
  readonly guard: object;
  readonly limiter: Limiter;
  readonly key: string;
  readonly decision: Decision;
  /** The last that was told of the request so far, by whatever guard. */
  readonly told: Told | undefined;
  readonly before: Step | undefined;
}

/** Registered, so that other copies of the package find the same; a new shape of steps needs a new name. */
const TRAIL: unique symbol = Symbol.for('sluice.trail.2') as never;

interface Place {
  [TRAIL]?: Step;
}

/** Returns the last step that stands on the place of a request, if there was one. */
export function trailOn(place: object): Step | undefined {
  return (place as Place)[TRAIL];
}

/**
 * Returns what the last guard decided of a request, or `undefined` if none did.
 *
 * @example
 * import { createServer } from 'node:http';
 * import { lastDecision } from '@sluice/core/http';
 * createServer((request, response) => response.end(String(lastDecision(request)?.remaining)));
 */
export function lastDecision(raw: IncomingMessage): Decision | undefined {
  return trailOn(placeOn(raw))?.decision;
}

/** Adds a step, of which the last one so far is to be `before`. */
export function leaveTrail(place: object, step: Step): void {
  (place as Place)[TRAIL] = step;
}

/**
 * Returns where a request can carry something, under a symbol: the list of its headers, which each of Node's has to
 * itself, however it is wrapped; any other request itself, as its list may be shared, or made anew each time. Who puts
 * another list in its place takes along what it carries.
 *
 * In Express, where each request gets a hidden class of its own, one more property on it takes some microseconds, many
 * times what deciding takes; a WeakMap, which the collector looks through each time, takes as long everywhere.
 *
 * @example
 * import { createServer } from 'node:http';
 * import { placeOn } from '@sluice/core/http';
 * const seen = Symbol('seen');
 * createServer((request) => Object.assign(placeOn(request), { [seen]: true }));
 */
export function placeOn(raw: IncomingMessage): object {
  if (!(raw instanceof IncomingMessage)) return raw;
  const { rawHeaders } = raw;
  return Array.isArray(rawHeaders) && Object.isExtensible(rawHeaders) ? rawHeaders : raw;
}

/** Whether the guard has judged the request; by that key, if one is given. */
export function hasJudged(last: Step | undefined, guard: object, key?: string): boolean {
  for (let each = last; each !== undefined; each = each.before) {
    if (each.guard === guard && (key === undefined || each.key === key)) return true;
  }
  return false;
}

/** Whether the limiter has charged the key: what it denied, another guard may deny again. */
export function hasCharged(last: Step | undefined, limiter: Limiter, key: string): boolean {
  for (let each = last; each !== undefined; each = each.before) {
    if (each.decision.allowed && each.limiter === limiter && each.key === key) return true;
  }
  return false;
}
