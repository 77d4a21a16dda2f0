/**
 * `request.rateLimit`, as Express has `request.ip`: by its prototype of all requests.
 *
 * @module
 */

import { IncomingMessage } from 'node:http';
import type { Decision } from '@sluice/core';
import { lastDecision, placeOn } from '@sluice/core/http';
import type { Request } from 'express';

/** Registered, so that other copies of the package find the same. */
const OTHER: unique symbol = Symbol.for('sluice.other') as never;

interface Place {
  /** What something else has put in the place of a decision. */
  [OTHER]?: { readonly value: Decision | undefined; readonly decision: Decision | undefined };
}

/** Whether the requests of a prototype, which each application has its own of, have the property by it. */
const known = new WeakMap<object, boolean>();

/** Makes the decision, the last of the request, stand on it. */
export function showDecision(request: Request, decision: Decision): void {
  const prototype: object = Object.getPrototypeOf(request);
  let decorated = known.get(prototype);
  if (decorated === undefined) {
    decorated = decorate(prototype);
    known.set(prototype, decorated);
  }
  // To assign would have each request grow a property (see placeOn), but one that was assigned before hides ours.
  if (!decorated || Object.hasOwn(request, 'rateLimit')) request.rateLimit = decision;
}

/** Defines the property for all requests of Express, unless it is there; returns whether it is ours. */
function decorate(prototype: object): boolean {
  const base = baseOf(prototype);
  if (base === undefined) return false;
  if (!('rateLimit' in prototype)) Reflect.defineProperty(base, 'rateLimit', property);
  // It may be an application's own, or that of another copy of the package.
  const probe: Pick<Request, 'rateLimit'> = Object.create(prototype, { rawHeaders: { value: [] } });
  const value = {} as Decision;
  (placeOn(probe as Request) as Place)[OTHER] = { value, decision: undefined };
  try {
    return probe.rateLimit === value;
  } catch {
    return false;
  }
}

/** Express' own prototype, of which all applications inherit: on the way out of one, a request keeps what it has. */
function baseOf(prototype: object): object | undefined {
  let base = prototype;
  for (;;) {
    const parent: object | null = Object.getPrototypeOf(base);
    if (parent === IncomingMessage.prototype) return base;
    if (parent === null) return undefined;
    base = parent;
  }
}

const property: PropertyDescriptor & ThisType<Request> = {
  get() {
    const decision = lastDecision(this);
    const other = (placeOn(this) as Place)[OTHER];
    return other !== undefined && other.decision === decision ? other.value : decision;
  },
  set(value: Decision | undefined) {
    (placeOn(this) as Place)[OTHER] = { value, decision: lastDecision(this) };
  },
  configurable: true,
  enumerable: true,
};
