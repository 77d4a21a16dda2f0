/**
 * What was done about a request before: the same limit may stand in its way more than once.
 *
 * @module
 */

import type { IncomingMessage } from 'node:http';
import type { Limiter } from '../limiter.js';
import type { Told } from './teller.js';

/** What one guard has done about a request, and, behind it, what others did before. */
export interface Step {
  readonly raw: IncomingMessage;
  readonly guard: object;
  readonly limiter: Limiter;
  readonly key: string;
  readonly charged: boolean;
  /** The last that was told of the request so far, by whatever guard. */
  readonly told: Told | undefined;
  readonly before: Step | undefined;
}

/** Registered, so that other copies of the package find the same; a new shape of steps needs a new name. */
const TRAIL: unique symbol = Symbol.for('sluice.trail.2') as never;

interface Place {
  [TRAIL]?: Step;
}

/** Returns the last step, if there was one. */
export function trailOf(raw: IncomingMessage): Step | undefined {
  const last = (placeOn(raw) as Place)[TRAIL];
  // A mock-up may share its headers with others.
  return last?.raw === raw ? last : undefined;
}

/** Adds a step, of which the last one so far is to be `before`. */
export function leaveTrail(step: Step): void {
  (placeOn(step.raw) as Place)[TRAIL] = step;
}

/**
 * Returns where a request can carry something, under a symbol: the list of its headers, which each has to itself; the
 * request, if it has none.
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
  const { rawHeaders } = raw;
  return rawHeaders !== undefined && Object.isExtensible(rawHeaders) ? rawHeaders : raw;
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
    if (each.charged && each.limiter === limiter && each.key === key) return true;
  }
  return false;
}
