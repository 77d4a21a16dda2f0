/**
 * How many units a process charges in advance.
 *
 * @module
 */

import type { LeaseAccount } from './lease-account.js';

/** How much is charged in advance, and for how long. */
export interface Sizing {
  /** Units that are not asked for so long are given back. */
  readonly idleMs: number;
  /** The longest that units may be used after they were charged. */
  readonly horizonMs: number;
  /**
   * Returns how many units a process should hold to admit a request that costs `cost`; none if it should ask for that
   * alone.
   */
  wants(account: LeaseAccount, cost: number, nowMs: number): number;
  /** Whether a process that got less than it wanted denies by itself until it asks again. */
  readonly waits: boolean;
}

/** As many as are likely to be used within the horizon. */
export function byDemand(horizonMs: number): Sizing {
  return {
    idleMs: horizonMs,
    horizonMs,
    waits: true,
    wants(account, cost, nowMs) {
      const demand = account.demand * Math.min(1, account.lifeMs / horizonMs);
      const scarce = nowMs < account.scarceMs + 2 * horizonMs;
      const likely = account.lapses
        ? // So that hardly a unit lapses, least of all where there is not plenty.
          demand - (account.rich ? 1 : 2) * Math.sqrt(demand)
        : // What is not used is missing elsewhere until it is given back, but where all is used anyway.
          account.rich || scarce
          ? demand
          : demand / 2;
      const wants = Math.floor(Math.min(likely, account.mostOfSlow));
      return wants > cost || account.holds ? Math.max(wants, cost) : 0;
    },
  };
}

/** The share of each of so many processes, once in each window. */
export function byShare(instances: number, idleMs: number): Sizing {
  return {
    idleMs,
    horizonMs: Infinity,
    waits: false,
    wants(account, cost, nowMs) {
      const share = Math.floor(account.leastCapacity / instances);
      return nowMs < account.askedUntilMs || share < cost ? 0 : share;
    },
  };
}
