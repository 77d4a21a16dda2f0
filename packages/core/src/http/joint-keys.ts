/**
 * Who is asking, where a request is limited by keys of several kinds.
 *
 * @module
 */

import type { JointLimiter } from '../joint-limiter.js';
import { keyFrom } from './asked.js';
import { type Awaitable, then } from './awaitable.js';
import type { RequestLimit } from './options.js';
import type { Step } from './trail.js';

/** The key of each kind; `null` of a kind that does not apply. */
type KeyList = readonly (string | null)[];

export class JointKeys<Req> {
  readonly limiter: JointLimiter<boolean>;
  readonly #limits: readonly RequestLimit<Req>[];

  constructor(limiter: JointLimiter<boolean>, limits: readonly RequestLimit<Req>[]) {
    this.limiter = limiter;
    this.#limits = limits;
  }

  /** Returns the keys of a request; `undefined` if one is its address and nobody is there any more. */
  keysOf(request: Req, addressOf: () => string | undefined): Awaitable<KeyList | undefined> {
    const keys: (string | null)[] = [];
    const limits = this.#limits;
    return from(0);

    function from(first: number): Awaitable<KeyList | undefined> {
      for (let i = first; i < limits.length; i++) {
        const { key } = limits[i];
        if (typeof key === 'function') {
          return then(key(request), (own) => {
            keys.push(keyFrom(own) ?? null);
            return from(i + 1);
          });
        }
        const known = key ?? addressOf();
        if (known === undefined) return undefined;
        keys.push(known);
      }
      return keys;
    }
  }

  /** Returns the id of the keys that the limiter has not charged for this request yet; `undefined` if there is none. */
  idOf(keys: KeyList, trail: Step | undefined): string | undefined {
    const { kinds } = this.limiter;
    const left = [...keys];
    for (let step = trail; step !== undefined; step = step.before) {
      if (!step.decision.allowed || (step.limiter as object) !== this.limiter) continue;
      kinds.split(step.key).forEach((key, kind) => {
        if (key === left[kind]) left[kind] = null;
      });
    }
    return left.every((key) => key === null) ? undefined : kinds.join(left);
  }

  /** The key that the policy at a place counts. */
  keyAt(id: string, place: number): string {
    const { kinds } = this.limiter;
    return kinds.split(id)[kinds.places[place]] as string;
  }
}
