/**
 * Two instances of an application under load, while something happens to their Redis.
 *
 * Each instance asks for a few roomy keys all the time, so that no denial of those can be right; and, from the moment
 * the fault begins, for one tight key that both share, of which {@link USED} units are used already.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient } from '@sluice/core/redis';
import {
  expectInTime,
  expectNoError,
  expectNoFalseDenial,
  expectRecovery,
  of,
  outlast,
  outwaited,
  type Tally,
  tally,
} from './expect.js';
import {
  charge,
  charged,
  decided,
  type Instance,
  type Ladder,
  openInstance,
  TIGHT_LIMIT,
} from './instance.js';
import { Load, type Sample } from './load.js';
import { Pulse } from './meters.js';

const KEYS = ['a', 'b', 'c'];
const USED = 20;

export class Scene {
  readonly #clients: readonly RedisClient[];
  readonly #instances: readonly Instance[];
  readonly #roomy: readonly Load[];
  #tight: readonly Load[] = [];

  /** The load begins at once. One client per instance. */
  constructor(clients: readonly RedisClient[], ladder: Ladder = {}) {
    this.#clients = clients;
    this.#instances = clients.map((client) => openInstance(client, ladder));
    this.#roomy = this.#instances.map(({ roomy }) => new Load(roomy, { keys: KEYS, clients: 8 }));
  }

  /** Waits until Redis decides for all, and uses what is used of the tight key before the fault. Redis must be well. */
  async prepare(): Promise<void> {
    for (const { roomy } of this.#instances) await decided(roomy);
    await charge(this.#clients[0], 'tight', 'tight', USED);
  }

  /** From now on the tight key is asked for as well. */
  strain(): void {
    const load = { keys: ['tight'], clients: 4, pauseMs: 10 };
    this.#tight = this.#instances.map(({ tight }) => new Load(tight, load));
  }

  /**
   * The fault is over, and `port` is that of the server that is in charge now. Lets the load go on for long enough, ends
   * it, and expects of it what must hold in every fault: an answer to every request, in time, no false denial, and Redis
   * back in charge within a second.
   */
  async recover(port: number): Promise<Outcome> {
    const recoveredMs = performance.now();
    const pulse = new Pulse(port);
    const { lag } = this.#roomy[0];
    await outlast(recoveredMs, lag, pulse);
    const roomy = (await Promise.all(this.#roomy.map((load) => load.stop()))).flat();
    const tight = await Promise.all(this.#tight.map((load) => load.stop()));
    for (const samples of [roomy, ...tight]) {
      expectNoError(samples);
      expectInTime(samples, lag);
      expectRecovery(samples, recoveredMs, lag, pulse);
    }
    expectNoFalseDenial(roomy);
    return new Outcome(roomy, tight);
  }
}

/** What came of a scene. */
export class Outcome {
  readonly #roomy: readonly Sample[];
  readonly #tight: readonly (readonly Sample[])[];

  /** @param tight - by instance. */
  constructor(roomy: readonly Sample[], tight: readonly (readonly Sample[])[]) {
    this.#roomy = roomy;
    this.#tight = tight;
  }

  /** Of the roomy keys together. */
  get roomy(): Tally {
    return tally(this.#roomy);
  }

  get samples(): readonly Sample[] {
    return this.#roomy;
  }

  /** Each request to a roomy key was charged once, whoever decided it: the server's count is the number sent. */
  async expectAllChargedOnce(client: RedisClient): Promise<void> {
    const sent = KEYS.map((key) => of(this.#roomy, key).length);
    const units = () => Promise.all(KEYS.map((key) => charged(client, 'roomy', key)));
    // Where the machine is so busy that the breaker opened once more, some of it waits for the next probe.
    for (let i = 0; i < 30 && String(await units()) !== String(sent); i++) await sleep(100);
    expect(await units()).toEqual(sent);
  }

  /**
   * No request to a roomy key was charged twice, and at most `lost` of them all were not charged; besides those that
   * waited for all of the deadline, of which nobody knows either.
   */
  async expectChargedAtMostOnce(client: RedisClient, lost: number): Promise<void> {
    let missing = 0;
    for (const key of KEYS) {
      const sent = of(this.#roomy, key).length;
      const units = await charged(client, 'roomy', key);
      expect(units).toBeLessThanOrEqual(sent);
      missing += sent - units;
    }
    expect(missing).toBeLessThanOrEqual(lost + outwaited(this.#roomy).length);
  }

  /**
   * Of the tight key, each instance admitted no more than the limit by itself, and Redis no more than was left before
   * the fault; and when it was over Redis was told: what the instances had used left nothing.
   */
  async expectTightBound(client: RedisClient): Promise<void> {
    await this.#expectTight(client, TIGHT_LIMIT - USED);
  }

  /** The same of a server that forgot what had been used before the fault. */
  async expectTightBoundAnew(client: RedisClient): Promise<void> {
    await this.#expectTight(client, TIGHT_LIMIT);
  }

  async #expectTight(client: RedisClient, left: number): Promise<void> {
    const each = this.#tight.map(tally);
    for (const { locally } of each) expect(locally).toBeLessThanOrEqual(TIGHT_LIMIT);
    expect(sum(each.map(({ byStore }) => byStore))).toBeLessThanOrEqual(left);
    expect(sum(each.map(({ locally }) => locally))).toBeGreaterThan(0);
    expect(await charged(client, 'tight', 'tight')).toBe(TIGHT_LIMIT);
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
