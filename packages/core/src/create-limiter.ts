/**
 * How limiters are made: options are checked, parts are put together.
 *
 * @module
 */

import { Audit } from './audit/audit.js';
import { ChargingTable } from './charging-table.js';
import { oneOf, parseName, refuseUnknown } from './check.js';
import { Debts, MOST_KEYS } from './debts.js';
import type { Decider } from './decider.js';
import { expected } from './errors.js';
import { Blind, Ladder, type OnStoreError, parseLocalShare, parseOnStoreError } from './ladder.js';
import type { Limiter, LimiterOptions } from './limiter.js';
import { Local, sharePolicies } from './local.js';
import { MemoryStore } from './memory/memory-store.js';
import { namesOn } from './names.js';
import { parsePolicies } from './policy.js';
import { nowOf, StoreLimiter } from './store-limiter.js';
import type { Clock, ParsedPolicy, Store } from './types.js';
import { Candidate, parseCandidate } from './watch/candidate.js';
import { Listeners } from './watch/events.js';
import { parseNear } from './watch/near.js';
import { WatchedLimiter } from './watch/watched-limiter.js';

const OPTIONS = [
  ...['name', 'policies', 'store', 'clock', 'onStoreError', 'localShare'],
  ...['mode', 'candidate', 'near', 'audit'],
];

const MODES = ['enforce', 'shadow'] as const;

/**
 * Returns a limiter.
 *
 * @throws ArgumentError if an option is wrong, or if the store already has a limiter of that name:
 * two of them would eat each other's quota.
 *
 * @example
 * import { createLimiter } from '@sluice/core';
 * const limiter = createLimiter({ policies: [{ limit: 100, window: '1m' }] });
 * const decision = limiter.consume('user:42');
 * if (!decision.allowed) console.log(`again in ${decision.retryAfterMs} ms`);
 */
export function createLimiter<A extends boolean = false>(options: LimiterOptions<A>): Limiter<A> {
  if (typeof options !== 'object' || options === null) {
    throw expected('ERR_SLUICE_OPTION', 'options', 'an object', options);
  }
  refuseUnknown(options, OPTIONS, 'createLimiter', 'ERR_SLUICE_OPTION');
  const { name: given = 'default' } = options;
  const name = parseName(given, 'name', 'ERR_SLUICE_OPTION');
  const policies = parsePolicies(options.policies);
  const onStoreError = parseOnStoreError(options.onStoreError);
  const parts = {
    clock: parseClock(options.clock),
    onStoreError,
    localShare: parseLocalShare(options.localShare),
    store: parseStore(options.store) as Store<A>,
  };
  const candidate = parseCandidate(options.candidate);
  const near = parseNear(options.near);
  const audit = options.audit === undefined ? undefined : new Audit(policies, options.audit);
  const shadow = oneOf(MODES, options.mode ?? 'enforce', 'mode', 'ERR_SLUICE_OPTION') === 'shadow';
  const names = namesOn(parts.store, name);
  const triedName = `${name}~candidate`;
  if (candidate !== undefined) namesOn(parts.store, triedName);
  const listeners = new Listeners();
  const tried =
    candidate &&
    new Candidate(
      // What fails in the shadow is counted, not stood in for.
      deciderOf(triedName, candidate, { ...parts, onStoreError: 'throw' }).decider,
      (key, decision, own) => listeners.emit('candidate', { key, decision, candidate: own }),
    );
  const { decider, makers } = deciderOf(name, policies, parts);
  const limiter = new WatchedLimiter(decider, { shadow, near, listeners, candidate: tried, audit });
  for (const maker of makers) maker.owner = limiter;
  names.add(name);
  if (candidate !== undefined) names.add(triedName);
  return limiter;
}

interface Parts<A extends boolean> {
  readonly store: Store<A>;
  readonly clock: Clock | undefined;
  readonly onStoreError: OnStoreError;
  readonly localShare: number;
}

/** Returns what decides, and those in it that make decisions. */
function deciderOf<A extends boolean>(
  name: string,
  policies: readonly ParsedPolicy[],
  parts: Parts<A>,
): { readonly decider: Decider<A>; readonly makers: readonly StoreLimiter<boolean>[] } {
  const { store, clock, onStoreError, localShare } = parts;
  if (!store.async || onStoreError === 'throw') {
    const limiter = new StoreLimiter(name, policies, store, clock);
    return { decider: limiter, makers: [limiter as StoreLimiter<boolean>] };
  }
  const { ladder, makers } = createLadder(
    name,
    policies,
    store as Store<true>,
    clock,
    onStoreError,
    localShare,
  );
  return { decider: ladder as Decider<boolean> as Decider<A>, makers };
}

/** Returns a limiter on a store that may fail. */
function createLadder(
  name: string,
  policies: readonly ParsedPolicy[],
  store: Store<true>,
  clock: Clock | undefined,
  onStoreError: Exclude<OnStoreError, 'throw'>,
  localShare: number,
): { readonly ladder: Ladder; readonly makers: readonly StoreLimiter<boolean>[] } {
  if (onStoreError !== 'local') {
    const fallback = new Blind(policies, onStoreError === 'allow');
    const limiter = new StoreLimiter(name, policies, store, clock);
    return { ladder: new Ladder(limiter, fallback), makers: [limiter as StoreLimiter<boolean>] };
  }
  const now = () => nowOf(clock);
  const memory = new MemoryStore({ maxKeys: MOST_KEYS });
  const local = new StoreLimiter(name, sharePolicies(policies, localShare), memory, clock, true);
  const debts = new Debts(policies);
  const table = new ChargingTable(store.open(name, policies), debts, now);
  const limiter = new StoreLimiter(name, policies, store, clock, false, table);
  const fallback = new Local(policies, local, localShare, table, debts, now);
  return { ladder: new Ladder(limiter, fallback), makers: [limiter, local] as StoreLimiter<boolean>[] };
}

function parseClock(clock: unknown): Clock | undefined {
  if (clock === undefined) return undefined;
  if (typeof (clock as Clock | null)?.now !== 'function') {
    throw expected('ERR_SLUICE_OPTION', 'clock', 'an object with a function `now`', clock);
  }
  return clock as Clock;
}

function parseStore(store: unknown): Store {
  if (store === undefined) return new MemoryStore();
  if (typeof (store as Store | null)?.open !== 'function') {
    throw expected(
      'ERR_SLUICE_OPTION',
      'store',
      'a store such as new MemoryStore() or new RedisStore({ client })',
      store,
    );
  }
  return store as Store;
}
