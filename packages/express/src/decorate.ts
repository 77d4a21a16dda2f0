/**
 * `request.rateLimit`, as Express has `request.ip`: by its prototype of all requests.
 *
 * @module
 */

import { IncomingMessage } from 'node:http';
import type { Decision } from '@sluice/core';
import { placeOn } from '@sluice/core/http';
import type { Request } from 'express';

/** Registered, so that other copies of the package find the same. */
const DECISION: unique symbol = Symbol.for('sluice.decision') as never;

interface Place {
  [DECISION]?: Decision | undefined;
}

/** Whether the requests of a prototype, which each application has its own of, have the property by it. */
const known = new WeakMap<object, boolean>();

/** Makes the decision stand on the request. */
export function setDecision(request: Request, decision: Decision): void {
  const prototype: object = Object.getPrototypeOf(request);
  let decorated = known.get(prototype);
  if (decorated === undefined) {
    decorated = decorate(prototype);
    known.set(prototype, decorated);
  }
  // To assign would have each request grow a property: see placeOn.
  if (decorated) (placeOn(request) as Place)[DECISION] = decision;
  else request.rateLimit = decision;
}

/** Defines the property for all requests of Express, unless it is there; returns whether it shows what is set. */
function decorate(prototype: object): boolean {
  const base = baseOf(prototype);
  if (base === undefined) return false;
  if (!('rateLimit' in prototype)) Reflect.defineProperty(base, 'rateLimit', property);
  // It may be an application's own, or that of another copy of the package.
  const probe: Pick<Request, 'rateLimit'> = Object.create(prototype, { rawHeaders: { value: [] } });
  const decision = {} as Decision;
  (placeOn(probe as Request) as Place)[DECISION] = decision;
  return probe.rateLimit === decision;
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
    return (placeOn(this) as Place)[DECISION];
  },
  set(decision: Decision | undefined) {
    (placeOn(this) as Place)[DECISION] = decision;
  },
  configurable: true,
  enumerable: true,
};
