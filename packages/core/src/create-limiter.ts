/**
 * How limiters are made: options are checked, parts are put together.
 *
 * @module
 */

import { Audit } from './audit/audit.js';
import { ChargingTable } from './charging-table.js';
import { checkObject, oneOf, parseName, refuseUnknown } from './check.js';
import { Debts, MOST_KEYS } from './debts.js';
import type { Decider } from './decider.js';
import { ArgumentError, expected } from './errors.js';
import { checkKinds, JointLimiter } from './joint-limiter.js';
import { type KeyKinds, parseLimits } from './kinds.js';
import { Blind, Ladder, type OnStoreError, parseLocalShare, parseOnStoreError } from './ladder.js';
import type { JointLimiterOptions, Keys, Limiter, LimiterOptions } from './limiter.js';
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
  ...['name', 'policies', 'limits', 'store', 'clock', 'onStoreError', 'localShare'],
  ...['mode', 'candidate', 'near', 'audit'],
];

const MODES = ['enforce', 'shadow'] as const;

/**
 * Returns a limiter of keys of several kinds, such as an address and a user, which are one decision: see
 * `docs/several-keys.md`.
 *
 * @throws ArgumentError if an option is wrong, or if the store already has a limiter of that name.
 *
 * @example
 * import { createLimiter } from '@sluice/core';
 * const limiter = createLimiter({
 *   limits: [
 *     { name: 'address', policies: [{ limit: 100, window: '1m' }] },
 *     { name: 'user', policies: [{ limit: 20, window: '1m' }] },
 *   ],
 * });
 * const decision = limiter.consume({ address: 'ip:203.0.113.7', user: 'user:42' });
 * if (!decision.allowed) console.log(`${decision.policy}: again in ${decision.retryAfterMs} ms`);
 */
export function createLimiter<A extends boolean = false, Kind extends string = string>(
  options: JointLimiterOptions<A, Kind>,
): Limiter<A, Keys<Kind>>;
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
// Last, as that is the one that the compiler speaks of where none fits.
export function createLimiter<A extends boolean = false>(options: LimiterOptions<A>): Limiter<A>;
export function createLimiter<A extends boolean>(
  options: LimiterOptions<A> | JointLimiterOptions<A>,
): Limiter<A> | Limiter<A, Keys> {
  checkObject(options, 'options', 'an object', 'ERR_SLUICE_OPTION');
  refuseUnknown(options, OPTIONS, 'createLimiter', 'ERR_SLUICE_OPTION');
  const { name: given = 'default' } = options;
  const name = parseName(given, 'name', 'ERR_SLUICE_OPTION');
  const { policies, kinds } = parseJudges(options);
  const onStoreError = parseOnStoreError(options.onStoreError);
  const parts = {
    clock: parseClock(options.clock),
    onStoreError,
    localShare: parseLocalShare(options.localShare),
    store: parseStore(options.store, kinds) as Store<A>,
  };
  const candidate = parseTried(options.candidate, kinds);
  const near = parseNear(options.near);
  const audit = options.audit === undefined ? undefined : new Audit(policies, options.audit);
  const shadow = oneOf(MODES, options.mode ?? 'enforce', 'mode', 'ERR_SLUICE_OPTION') === 'shadow';
  const names = namesOn(parts.store, name);
  const triedName = `${name}~candidate`;
  if (candidate !== undefined) namesOn(parts.store, triedName);
  const listeners = new Listeners(kinds && ((id) => kinds.keysOf(id)));
  const tried =
    candidate &&
    new Candidate(
      // What fails in the shadow is counted, not stood in for.
      deciderOf(triedName, candidate, { ...parts, onStoreError: 'throw' }).decider,
      (key, decision, own) => listeners.emit('candidate', { key, decision, candidate: own }),
      candidate.kinds && ((id, request) => candidate.kinds?.requestOf(id, request)),
    );
  const { decider, makers } = deciderOf(name, { policies, kinds }, parts);
  const limiter = new WatchedLimiter(decider, { shadow, near, listeners, candidate: tried, audit });
  for (const maker of makers) maker.owner = limiter;
  names.add(name);
  if (candidate !== undefined) names.add(triedName);
  return kinds === undefined ? limiter : new JointLimiter(limiter, kinds, parts.store.async);
}

/** What a limiter decides by. */
interface Judges {
  readonly policies: readonly ParsedPolicy[];
  /** Where keys of several kinds are one decision. */
  readonly kinds: KeyKinds | undefined;
}

function parseJudges({ policies, limits, audit }: Partial<Loose>): Judges {
  if (limits === undefined) return { policies: parsePolicies(policies), kinds: undefined };
  const beside = policies !== undefined ? 'policies' : audit !== undefined ? 'audit' : undefined;
  if (beside === undefined) return parseLimits(limits);
  const what =
    beside === 'policies' ? 'Each of the limits has its own' : 'It would need the keys of one kind';
  const message = `Expected no \`${beside}\` beside \`limits\`, got both. ${what}.`;
  throw new ArgumentError('ERR_SLUICE_OPTION', message);
}

/** Returns what the candidate decides by, of the same kinds of keys. */
function parseTried(candidate: unknown, kinds: KeyKinds | undefined): Judges | undefined {
  if (kinds === undefined) {
    const policies = parseCandidate(candidate);
    return policies && { policies, kinds: undefined };
  }
  if (candidate === undefined) return undefined;
  checkObject(candidate, 'candidate', 'an object with limits', 'ERR_SLUICE_OPTION');
  refuseUnknown(candidate, ['limits'], 'candidate', 'ERR_SLUICE_OPTION');
  const tried = parseLimits((candidate as Loose).limits, 'candidate.limits');
  checkKinds(kinds, tried.kinds, 'a candidate');
  return tried;
}

/** Options as nobody has checked them yet. */
interface Loose {
  readonly policies: unknown;
  readonly limits: unknown;
  readonly audit: unknown;
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
  judges: Judges,
  parts: Parts<A>,
): { readonly decider: Decider<A>; readonly makers: readonly StoreLimiter<boolean>[] } {
  const { store, clock, onStoreError, localShare } = parts;
  if (!store.async || onStoreError === 'throw') {
    const table = store.open(name, judges.policies, judges.kinds);
    const limiter = new StoreLimiter(name, judges.policies, store, clock, table);
    return { decider: limiter, makers: [limiter as StoreLimiter<boolean>] };
  }
  const { ladder, makers } = createLadder(
    name,
    judges,
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
  { policies, kinds }: Judges,
  store: Store<true>,
  clock: Clock | undefined,
  onStoreError: Exclude<OnStoreError, 'throw'>,
  localShare: number,
): { readonly ladder: Ladder; readonly makers: readonly StoreLimiter<boolean>[] } {
  if (onStoreError !== 'local') {
    const fallback = new Blind(policies, onStoreError === 'allow');
    const limiter = new StoreLimiter(name, policies, store, clock, store.open(name, policies, kinds));
    return { ladder: new Ladder(limiter, fallback), makers: [limiter as StoreLimiter<boolean>] };
  }
  const now = () => nowOf(clock);
  const memory = new MemoryStore({ maxKeys: MOST_KEYS });
  const shares = sharePolicies(policies, localShare);
  const local = new StoreLimiter(name, shares, memory, clock, memory.open(name, shares, kinds), true);
  const debts = new Debts(policies, kinds);
  const table = new ChargingTable(store.open(name, policies, kinds), debts, now);
  const limiter = new StoreLimiter(name, policies, store, clock, table);
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

function parseStore(store: unknown, kinds: KeyKinds | undefined): Store {
  if (store === undefined) return new MemoryStore();
  if (typeof (store as Store | null)?.open !== 'function') {
    throw expected(
      'ERR_SLUICE_OPTION',
      'store',
      'a store such as new MemoryStore() or new RedisStore({ client })',
      store,
    );
  }
  // It would take the keys of all kinds for one.
  if (kinds !== undefined && (store as Store).takesKinds !== true) {
    throw expected('ERR_SLUICE_OPTION', 'store', 'one that takes keys of several kinds', store);
  }
  return store as Store;
}
