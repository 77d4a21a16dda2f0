/**
 * The audit: the exact log beside policies that estimate, on some of the keys.
 *
 * @module
 */

import { checkObject, refuseUnknown } from '../check.js';
import { instantOf } from '../decision.js';
import { ArgumentError, expected } from '../errors.js';
import { digest, LONGEST_KEY } from '../key.js';
import type { Decision, ParsedPolicy } from '../types.js';
import { Examiner, estimates } from './examiner.js';
import type { History } from './history.js';
import { Recent } from './recent.js';
import type { AuditReport, PolicyAudit } from './report.js';
import { isSampled } from './sample.js';

const CODE = 'ERR_SLUICE_OPTION';

/** A map of more would stop the process when it grows. */
const MOST_KEYS = 2 ** 20;

/** How many numbers of 8 bytes a key may hold if all are there; a few may hold as many as {@link LEAST_NUMBERS}. */
const NUMBERS_PER_KEY = 512;
const LEAST_NUMBERS = 2 ** 18;

/** How many keys a call gives up that have expired: more than it adds. */
const TIDIED_AT_ONCE = 2;

/** What an {@link Audit} can be told. */
export interface AuditOptions {
  /** The share of keys that is looked at: above 0, at most 1. It is the same keys in every process, and after a restart. */
  readonly sample: number;
  /** The most sampled keys that it remembers; then those that were silent for longest are given up. Default 10,000. */
  readonly maxKeys?: number | undefined;
}

/** What is remembered of a key. */
interface Memory {
  /** Per examiner, once it has judged the key. */
  readonly histories: (History | undefined)[];
  /** When nothing of it can matter any more. */
  expires: number;
  /** How many numbers it holds. */
  size: number;
  /** Whether it was blocked when it was last seen; nothing that is new to the audit can have had a strike. */
  blocked: boolean;
}

/**
 * Runs the exact log beside the policies of a limiter that estimate (`fixed-window`, `sliding-window-counter`), on a
 * sample of its keys, and tells how often they disagree and how much was admitted at most.
 *
 * It knows only what it observes: all decisions of a key, by one process, in the order they were made.
 *
 * @example
 * import { Audit, createLimiter } from '@sluice/core';
 * const limiter = createLimiter({ policies: [{ limit: 100, window: '1m' }] });
 * const audit = new Audit(limiter.policies, { sample: 0.01 });
 * function consume(key: string) {
 *   const decision = limiter.consume(key);
 *   audit.observe(key, decision);
 *   return decision;
 * }
 * consume('user:42');
 * const { decisions, independent } = audit.report().policies.default;
 * console.log(`${independent.falseAllows} of ${decisions} should have been denied`);
 */
export class Audit {
  readonly #sample: number;
  readonly #maxKeys: number;
  readonly #examiners: readonly Examiner[];
  /** The longest silence after which anything of a key matters. */
  readonly #lifeMs: number;
  readonly #keys = new Recent<Memory>();
  #size = 0;
  #evictions = 0;
  #degraded = 0;

  /**
   * @param policies - those of the limiter, all of them.
   * @throws ArgumentError if an option is wrong, or if none of the policies estimates.
   */
  constructor(policies: readonly ParsedPolicy[], options: AuditOptions) {
    if (!Array.isArray(policies) || policies.some((policy) => typeof policy?.windowMs !== 'number')) {
      throw expected(CODE, 'policies', 'those of a limiter, which are limiter.policies', policies);
    }
    const { sample, maxKeys } = parseOptions(options);
    this.#sample = sample;
    this.#maxKeys = maxKeys;
    this.#examiners = policies.flatMap((policy, i) => (estimates(policy) ? new Examiner(policy, i) : []));
    if (this.#examiners.length === 0) {
      const got = [...new Set(policies.map(({ algorithm }) => algorithm))].join(', ');
      throw new ArgumentError(
        CODE,
        `Expected \`audit\` to have a policy that estimates (fixed-window, sliding-window-counter), got ${got}.`,
      );
    }
    // A counter knows of the window before the current one; so it is as new after two.
    this.#lifeMs = 2 * Math.max(...this.#examiners.map(({ policy }) => policy.windowMs));
  }

  /** Takes note of a decision that was charged to `key` if it was allowed: of `consume`, not of `peek`. */
  observe(key: string, decision: Decision): void {
    // All that the other keys cost.
    if (isSampled(key, this.#sample)) this.#observe(key, decision);
  }

  /** Takes note that the limiter made the key as new: so it is for the exact log. */
  reset(key: string): void {
    this.#drop(nameOf(key));
  }

  /** Returns what it has found since it began. Counts only grow, so the difference of two reports is what came between. */
  report(): AuditReport {
    const each = this.#examiners.map((one): [string, PolicyAudit] => [one.policy.name, one.report()]);
    return {
      sample: this.#sample,
      heldKeys: this.#keys.size,
      evictions: this.#evictions,
      degraded: this.#degraded,
      policies: Object.fromEntries(each),
    };
  }

  #observe(given: string, decision: Decision): void {
    if (decision.degraded) {
      this.#degraded += 1;
      return;
    }
    const now = instantOf(decision);
    const concerned = this.#examiners.some((examiner) => examiner.concerns(decision));
    if (now === undefined || !concerned) return;
    this.#tidy(now);
    const memory = this.#recall(nameOf(given), now);
    const counts = isCounted(decision, memory.blocked);
    memory.blocked = decision.block !== undefined;
    let size = 0;
    this.#examiners.forEach((examiner, i) => {
      if (counts && examiner.concerns(decision)) {
        memory.histories[i] ??= examiner.begin();
        examiner.observe(memory.histories[i], decision, now);
      }
      size += memory.histories[i]?.size ?? 0;
    });
    this.#size += size - memory.size;
    memory.size = size;
    memory.expires = Math.max(memory.expires, now + this.#lifeMs);
    this.#keepWithin();
  }

  /** What is remembered of the key, which is the one seen last from now on. */
  #recall(key: string, now: number): Memory {
    const known = this.#keys.use(key);
    if (known !== undefined && known.expires > now) return known;
    this.#drop(key);
    const memory: Memory = {
      histories: this.#examiners.map(() => undefined),
      expires: 0,
      size: 0,
      blocked: true,
    };
    this.#keys.add(key, memory);
    return memory;
  }

  /** Forgets keys that have expired, of those that were silent for longest. */
  #tidy(now: number): void {
    for (let i = 0; i < TIDIED_AT_ONCE; i++) {
      const { oldest } = this.#keys;
      if (oldest === undefined || oldest[1].expires > now) return;
      this.#drop(oldest[0]);
    }
  }

  /** Gives up those that were silent for longest while there are too many, or they hold too much; never the last one. */
  #keepWithin(): void {
    const most = Math.max(NUMBERS_PER_KEY * this.#maxKeys, LEAST_NUMBERS);
    while (this.#keys.size > this.#maxKeys || (this.#size > most && this.#keys.size > 1)) {
      this.#drop((this.#keys.oldest as readonly [string, Memory])[0]);
      this.#evictions += 1;
    }
  }

  #drop(key: string): void {
    this.#size -= this.#keys.delete(key)?.size ?? 0;
  }
}

/** The key as it is held: what a client sends must not decide how much that is. */
function nameOf(key: string): string {
  return key.length > LONGEST_KEY ? digest(key) : key;
}

/** Whether a decision was made by limits. That of a key that is blocked was not, but the strike was that began the block. */
function isCounted({ block }: Decision, wasBlocked: boolean): boolean {
  return block === undefined || (block.by === 'policy' && !wasBlocked);
}

function parseOptions(options: AuditOptions): { sample: number; maxKeys: number } {
  checkObject(options, 'audit', 'an object such as { sample: 0.01 }', CODE);
  refuseUnknown(options, ['sample', 'maxKeys'], 'audit', CODE, 'audit.');
  const { sample, maxKeys = 10_000 } = options;
  if (typeof sample !== 'number' || !(sample > 0 && sample <= 1)) {
    throw expected(CODE, 'audit.sample', 'a number above 0, at most 1', sample);
  }
  if (!Number.isInteger(maxKeys) || maxKeys < 1 || maxKeys > MOST_KEYS) {
    throw expected(CODE, 'audit.maxKeys', 'an integer from 1 to 2^20', maxKeys);
  }
  return { sample, maxKeys };
}
