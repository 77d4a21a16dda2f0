/**
 * Which requests are near a limit.
 *
 * @module
 */

import { checkObject, refuseUnknown } from '../check.js';
import { expected } from '../errors.js';
import type { Decision } from '../types.js';

/** From which share of a limit to which a request is near it. */
export interface NearOptions {
  /** The least share, 1 for the whole limit. Default 0.9. */
  readonly from?: number | undefined;
  /** The greatest share. Default 1.1. */
  readonly to?: number | undefined;
}

/** A share so large is surely one of a hundred. */
const PERCENT = 10;

/** The options, complete. */
export type NearRange = { readonly from: number; readonly to: number };

/** @throws ArgumentError unless both are numbers of at least 0, `from` is not above `to`, and neither is meant in percent. */
export function parseNear(near: unknown): NearRange {
  const given = near === undefined ? {} : near;
  checkObject(given, 'near', 'an object such as { from: 0.9, to: 1.1 }', 'ERR_SLUICE_OPTION');
  refuseUnknown(given, ['from', 'to'], 'near', 'ERR_SLUICE_OPTION');
  const { from = 0.9, to = 1.1 } = given as NearOptions;
  for (const [name, share] of Object.entries({ from, to })) {
    if (typeof share !== 'number' || !(share >= 0)) {
      throw expected('ERR_SLUICE_OPTION', `near.${name}`, 'a number of at least 0', share);
    }
  }
  // Whoever writes 90 means 90 percent, and would never be told of anything.
  if (from >= PERCENT)
    throw expected('ERR_SLUICE_OPTION', 'near.from', 'a share, such as 0.9 for 90 %', from);
  if (from > to) throw expected('ERR_SLUICE_OPTION', 'near.from', `at most ${to}, as near.to is`, from);
  return { from, to };
}

/** What would be in use with this request, of the policy of which that is the greatest share; NaN where nobody knows. */
export function shareOf({ allowed, cost, policies }: Decision): number {
  let most = 0;
  for (const { limit, remaining } of policies) {
    if (limit === Infinity) continue;
    // What was denied is not among what is used.
    const used = limit - remaining + (allowed ? 0 : cost);
    const share = used === 0 ? 0 : used / limit;
    if (!(share <= most)) most = share;
  }
  return most;
}
