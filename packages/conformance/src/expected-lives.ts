/**
 * How long the keys of a Redis store should live, by what its answers said.
 *
 * @module
 */

import { createHash } from 'node:crypto';
import type { Answer, Kinds, ParsedPolicy, Plan, Store, Table } from '@sluice/core';

/** When a key should end, in ms since the epoch by the clock of this machine, as exactly as a call can tell. */
export interface ExpectedEnd {
  readonly least: number;
  readonly most: number;
}

/** The numbers of each term in an answer: remaining, retryAfter, reset, at, delay. */
const ANSWER_WIDTH = 5;
/** What a key is given where real time cannot know how long its clock will take. */
const LEAST_MS_UNDER_OTHER_CLOCKS = 60_000;
/** Lives are rounded up, to at most a second more. */
const MOST_MORE_MS = 1000;

/** A call: what was asked, what came, and when. */
interface Call {
  readonly id: string;
  readonly cost: number;
  readonly plan: Plan;
  readonly charge: boolean;
  readonly now: number | undefined;
  readonly answer: Answer;
  readonly began: number;
}

/** What the keys of some stores should live for. */
export class ExpectedLives {
  readonly #prefix: string;
  readonly #ends = new Map<string, ExpectedEnd & { readonly under: string }>();
  /** Ids and limiters with blocks, which make keys live longer than their answers say. */
  readonly #blocked = new Set<string>();

  /** @param prefix - what all keys of the stores begin with. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** When the key should end; nothing if the last that was done to it does not tell. */
  of(key: string): ExpectedEnd | undefined {
    return this.#ends.get(key);
  }

  /** The keys that should be there at an instant. */
  at(now: number): string[] {
    return [...this.#ends].filter(([, { least }]) => least > now).map(([key]) => key);
  }

  /** Returns the store, every answer of which is noted. */
  watch(store: Store<true>): Store<true> {
    return {
      async: true,
      takesKinds: store.takesKinds ?? false,
      open: (limiter, policies, kinds) =>
        this.#watchTable(store.open(limiter, policies, kinds), limiter, policies, kinds),
    };
  }

  #watchTable(
    table: Table<true>,
    limiter: string,
    policies: readonly ParsedPolicy[],
    kinds: Kinds | undefined,
  ): Table<true> {
    const lone = policies.length === 1 && policies[0].name === 'default';
    const suffixes = policies.map(({ name }) => `:${limiter}${lone ? '' : `:${name}`}`);
    const keysOf = (id: string) => {
      const ids = kinds?.split(id).map((key) => key ?? 'of no kind');
      return suffixes.map(
        (suffix, i) =>
          `${this.#prefix}:{${tagOf(ids === undefined ? id : ids[kinds?.places[i] ?? 0])}}${suffix}`,
      );
    };
    const forget = (id: string) => {
      for (const key of keysOf(id)) this.#ends.delete(key);
    };
    let current = policies;
    return {
      decide: async (id, cost, plan, charge, now) => {
        const began = Date.now();
        const judges = current;
        const answer = await table.decide(id, cost, plan, charge, now).catch((error) => {
          forget(id);
          throw error;
        });
        // Whoever is given units back lives as long as what is left.
        if (answer.compensation !== undefined || this.#isLonger(limiter, id, plan)) forget(id);
        else this.#note({ id, cost, plan, charge, now, answer, began }, judges, keysOf(id));
        return answer;
      },
      charge: (id, ...rest) => {
        forget(id);
        return table.charge(id, ...rest);
      },
      correct: (id, ...rest) => {
        forget(id);
        return table.correct(id, ...rest);
      },
      reset: (id) => {
        forget(id);
        return table.reset(id);
      },
      block: (id, ...rest) => {
        // Of several kinds, other ids have the same keys.
        this.#blocked.add(kinds === undefined ? `${limiter} ${id}` : `${limiter} *`);
        forget(id);
        return table.block?.(id, ...rest) as Promise<void>;
      },
      unblock: (id, ...rest) => {
        forget(id);
        return table.unblock?.(id, ...rest) as Promise<void>;
      },
      update: (next) => {
        current = next;
        table.update?.(next);
      },
      close: () => table.close(),
    };
  }

  /** Whether something of a block may be kept with the keys of an id. */
  #isLonger(limiter: string, id: string, { terms }: Plan): boolean {
    if (terms.some(({ block }) => block !== undefined)) this.#blocked.add(`${limiter} *`);
    return this.#blocked.has(`${limiter} *`) || this.#blocked.has(`${limiter} ${id}`);
  }

  #note(call: Call, policies: readonly ParsedPolicy[], keys: readonly string[]): void {
    const { cost, plan, charge, now, answer, began } = call;
    const ended = Date.now();
    const admitted = plan.terms.every((_, i) => answer[i * ANSWER_WIDTH + 1] === 0);
    plan.terms.forEach(({ algorithm, numbers }, i) => {
      const policy = policies[plan.places[i]];
      const key = keys[plan.places[i]];
      const known = this.#ends.get(key);
      const under = `${algorithm} ${numbers.join(' ')}`;
      if (charge && cost > 0 && !admitted) {
        // It is told what it stands at without what is counted; and what it finds under other numbers it may adopt.
        if (policy.countDenied || known?.under !== under) this.#ends.delete(key);
        return;
      }
      // What writes nothing tells of a write that was not seen, by another process; but not under a limit of its own,
      // nor under a clock that moves by itself.
      const own = numbers[0] !== (policy.capacity ?? policy.limit);
      const writes = charge && cost > 0;
      if (!writes && (own || now !== undefined || known !== undefined)) return;
      const reset = answer[i * ANSWER_WIDTH + 2];
      this.#ends.set(key, { ...endOf(reset, began, ended, now !== undefined), under });
    });
  }
}

function endOf(reset: number, began: number, ended: number, injected: boolean): ExpectedEnd {
  const lifeMs = injected ? Math.max(reset, LEAST_MS_UNDER_OTHER_CLOCKS) : reset;
  return { least: began + lifeMs, most: ended + lifeMs + MOST_MORE_MS };
}

/** The id between the braces: itself, or a digest of what could do harm there. See `docs/reference/redis-keys.md`. */
export function tagOf(id: string): string {
  if (id.length <= 128 && /^[^#{}\p{Cc}\p{Cs}][^{}\p{Cc}\p{Cs}]*$/u.test(id)) return id;
  const hash = createHash('sha256').update(Buffer.from(id, 'utf16le')).digest();
  return `#${hash.subarray(0, 16).toString('base64url')}`;
}
