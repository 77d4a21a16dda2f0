/**
 * The keys of several kinds on a Redis Cluster, where those of one decision lie on several nodes, and no script sees all.
 *
 * First all nodes are asked. Where all admit, all are charged, each by itself; where one of them denies all the same, as
 * others came in between, or fails, the others are given it back.
 *
 * @module
 */

import { AT, DELAY, REMAINING, RETRY } from '../algorithms/outcome.js';
import { ArgumentError, isStoreError, StoreError } from '../errors.js';
import { partOf } from '../plan.js';
import {
  ANSWER_WIDTH,
  type Answer,
  type Charge,
  type Compensation,
  type Gate,
  type Kinds,
  type ParsedPolicy,
  type Plan,
  type Table,
} from '../types.js';
import type { RedisTable } from './redis-table.js';

/** What lies in one slot of a plan. */
interface Group {
  /** The places of its terms among those of the whole plan. */
  readonly which: readonly number[];
  readonly plan: Plan;
}

/** A group, and what its node said. */
interface Said {
  readonly group: Group;
  readonly answer: Answer;
}

export class SpreadTable implements Table<true> {
  readonly #table: RedisTable;
  readonly #kinds: Kinds;
  #policies: readonly ParsedPolicy[];

  constructor(table: RedisTable, policies: readonly ParsedPolicy[], kinds: Kinds) {
    this.#table = table;
    this.#policies = policies;
    this.#kinds = kinds;
  }

  get gate(): Gate {
    return this.#table.gate;
  }

  async decide(
    id: string,
    cost: number,
    plan: Plan,
    charge: boolean,
    now: number | undefined,
  ): Promise<Answer> {
    const groups = this.#groupsOf(id, plan);
    if (groups.length === 1) return this.#table.decide(id, cost, plan, charge, now);
    const said = await this.#ask(id, cost, groups, now);
    if (!said.every(admits)) return joined(plan, await this.#deny(id, cost, said, charge, now));
    return charge ? this.#reserve(id, cost, plan, groups, now) : joined(plan, said);
  }

  /** Each of several nodes would have to know how long the others let wait. */
  async reserve(
    id: string,
    cost: number,
    plan: Plan,
    mostWaitMs: number,
    now: number | undefined,
  ): Promise<Answer> {
    if (this.#groupsOf(id, plan).length === 1) return this.#table.reserve(id, cost, plan, mostWaitMs, now);
    const message =
      'Expected `acquire` to be given keys that lie on one node, such as a key of one kind, got several on a Redis Cluster.';
    throw new ArgumentError('ERR_SLUICE_RESERVE', message);
  }

  async charge(id: string, units: readonly number[], plan: Plan, now: number | undefined): Promise<Answer> {
    const said = await this.#each(id, plan, async (group) => {
      const answer = await this.#table.charge(id, of(group, units), group.plan, now);
      return { group, answer };
    });
    return joined(plan, said);
  }

  async correct(
    id: string,
    units: readonly number[],
    plan: Plan,
    charges: readonly Charge[],
    now: number | undefined,
  ): Promise<ArrayLike<number>> {
    const lacking = units.map(() => 0);
    await this.#each(id, plan, async (group) => {
      const own = of(group, units);
      const less = await this.#table.correct(id, own, group.plan, of(group, charges), now);
      group.which.forEach((place, i) => {
        lacking[place] = less[i];
      });
    });
    return lacking;
  }

  reset(id: string): Promise<void> {
    return this.#ofEach(id, (one) => this.#table.reset(one));
  }

  block(id: string, durationMs: number, plan: Plan, now: number | undefined): Promise<void> {
    return this.#ofEach(id, (one) => this.#table.block(one, durationMs, plan, now));
  }

  unblock(id: string, plan: Plan, now: number | undefined): Promise<void> {
    return this.#ofEach(id, (one) => this.#table.unblock(one, plan, now));
  }

  update(policies: readonly ParsedPolicy[]): void {
    this.#policies = policies;
  }

  close(): void {
    this.#table.close();
  }

  /** Asks all, and charges none. */
  async #ask(id: string, cost: number, groups: readonly Group[], now: number | undefined): Promise<Said[]> {
    try {
      return await Promise.all(
        groups.map(async (group) => {
          return { group, answer: await this.#table.decide(id, cost, group.plan, false, now) };
        }),
      );
    } catch (error) {
      throw isStoreError(error) ? withOutcome(error, 'not-run') : error;
    }
  }

  /**
   * What all are told of a request that one of them denies. It counts where denials do, or where they are strikes, but
   * not that of a key that is blocked.
   */
  #deny(
    id: string,
    cost: number,
    said: readonly Said[],
    charge: boolean,
    now: number | undefined,
  ): Promise<Said[]> {
    const blocked = said.some(blocks);
    const notes = ({ countDenied, block }: ParsedPolicy) => countDenied || block !== undefined;
    return allOf(
      said.map(async ({ group, answer }) => {
        const counts = group.plan.places.some((place) => notes(this.#policies[place]));
        if (blocked || !counts)
          return { group, answer: admits({ group, answer }) ? withoutDelay(answer) : answer };
        const later = await this.#table.deny(id, cost, group.plan, charge, now);
        // What denied must not be seen to admit by now: then nobody would have denied.
        return {
          group,
          answer: !admits({ group, answer }) && admits({ group, answer: later }) ? answer : later,
        };
      }),
    );
  }

  /** Charges all, or none for longer than it takes to find out that one of them denies. */
  async #reserve(
    id: string,
    cost: number,
    plan: Plan,
    groups: readonly Group[],
    now: number | undefined,
  ): Promise<Answer> {
    const tries = await Promise.allSettled(
      groups.map((group) => this.#table.decide(id, cost, group.plan, true, now)),
    );
    const said = tries.flatMap((each, i) =>
      each.status === 'fulfilled' ? [{ group: groups[i], answer: each.value }] : [],
    );
    const errors = tries.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
    if (errors.length === 0 && said.every(admits)) return joined(plan, said);

    const charged = said.filter(admits);
    // A request that is denied stays counted where denials are; one that nobody decided does not.
    const keeps = (place: number) => errors.length === 0 && this.#policies[place].countDenied;
    const given = await Promise.all(charged.map((each) => this.#giveBack(id, cost, each, keeps, now)));
    const failed = errors.find((error) => !isStoreError(error) || error.outcome !== 'not-run') ?? errors[0];
    if (failed !== undefined) {
      throw isStoreError(failed) && given.includes(false) ? withOutcome(failed, 'unknown') : failed;
    }
    const after = await Promise.all(
      said.map((each) => (admits(each) ? this.#standing(id, cost, each, now) : each)),
    );
    const kindsOf = (done: boolean) =>
      charged.flatMap(({ group }, i) => (given[i] === done ? this.#namesOf(group) : []));
    const compensation: Compensation = { givenBack: kindsOf(true), lost: kindsOf(false) };
    return Object.assign(joined(plan, after), { compensation });
  }

  /** Returns whether it could be given back. */
  async #giveBack(
    id: string,
    cost: number,
    { group: { plan }, answer }: Said,
    keeps: (place: number) => boolean,
    now: number | undefined,
  ): Promise<boolean> {
    const units = plan.places.map((place) => (keeps(place) ? 0 : cost));
    const charges = plan.terms.map((term, i) => ({
      at: answer[i * ANSWER_WIDTH + AT],
      level: term.numbers[0] - answer[i * ANSWER_WIDTH + REMAINING],
    }));
    try {
      await this.#table.correct(id, units, plan, charges, now);
      return true;
    } catch {
      return false;
    }
  }

  /** How it stands with those that were given back what they were charged. */
  async #standing(id: string, cost: number, { group, answer }: Said, now: number | undefined): Promise<Said> {
    try {
      const standing = Array.from(await this.#table.decide(id, cost, group.plan, false, now));
      group.plan.places.forEach((place, i) => {
        const from = i * ANSWER_WIDTH;
        const counted = this.#policies[place].countDenied;
        standing[from + DELAY] = counted ? standing[from + RETRY] : 0;
        if (counted) standing[from + RETRY] = 0;
      });
      return { group, answer: standing };
    } catch {
      return { group, answer: withoutDelay(answer) };
    }
  }

  /** Has the key of each kind be treated alone. */
  async #ofEach(id: string, work: (one: string) => Promise<void>): Promise<void> {
    const keys = this.#kinds.split(id);
    const alone = keys.flatMap((key, kind) =>
      key === null ? [] : [this.#kinds.join(keys.map((_, i) => (i === kind ? key : null)))],
    );
    await allOf(alone.map(work));
  }

  #each<T>(id: string, plan: Plan, work: (group: Group) => Promise<T>): Promise<T[]> {
    return allOf(this.#groupsOf(id, plan).map(work));
  }

  /** Keys that are the same text are in the same slot, whatever their kinds. */
  #groupsOf(id: string, plan: Plan): Group[] {
    const keys = this.#kinds.split(id);
    const byKey = new Map<string | null, number[]>();
    plan.places.forEach((place, i) => {
      const key = keys[this.#kinds.places[place]];
      const which = byKey.get(key);
      if (which === undefined) byKey.set(key, [i]);
      else which.push(i);
    });
    if (byKey.size === 1) return [{ which: plan.places.map((_, i) => i), plan }];
    return Array.from(byKey.values(), (which) => ({ which, plan: partOf(plan, which) }));
  }

  #namesOf({ plan }: Group): string[] {
    return [...new Set(plan.places.map((place) => this.#kinds.names[this.#kinds.places[place]]))];
  }
}

function of<T>({ which }: Group, all: readonly T[]): T[] {
  return which.map((i) => all[i]);
}

function admits({ group, answer }: Said): boolean {
  return group.plan.terms.every((_, i) => answer[i * ANSWER_WIDTH + RETRY] === 0);
}

function blocks({ group, answer }: Said): boolean {
  return group.plan.terms.some((_, i) => answer[i * ANSWER_WIDTH + REMAINING] < 0);
}

/** Nobody waits in a queue for what is denied elsewhere. */
function withoutDelay(answer: Answer): Answer {
  return Array.from(answer, (number, i) => (i % ANSWER_WIDTH === DELAY ? 0 : number));
}

function joined({ terms }: Plan, said: readonly Said[]): number[] {
  const all = new Array<number>(terms.length * ANSWER_WIDTH);
  for (const { group, answer } of said) {
    group.which.forEach((place, i) => {
      for (let j = 0; j < ANSWER_WIDTH; j++) all[place * ANSWER_WIDTH + j] = answer[i * ANSWER_WIDTH + j];
    });
  }
  return all;
}

/**
 * Resolves when all are done, and rejects then if one failed: what was done by others must not be done again, so that
 * is known not to be run only if nothing was.
 */
async function allOf<T>(works: readonly Promise<T>[]): Promise<T[]> {
  const done = await Promise.allSettled(works);
  const errors = done.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []));
  if (errors.length === 0) return done.map((each) => (each as PromiseFulfilledResult<T>).value);
  const failed = errors.find((error) => !isStoreError(error) || error.outcome !== 'not-run') ?? errors[0];
  throw errors.length < done.length && isStoreError(failed) ? withOutcome(failed, 'unknown') : failed;
}

function withOutcome(error: StoreError, outcome: StoreError['outcome']): StoreError {
  return error.outcome === outcome ? error : new StoreError(error.code, error.message, outcome, error.cause);
}
