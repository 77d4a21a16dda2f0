/**
 * How busy the machine is: what this process and a server lose to others, and no deadline can keep.
 *
 * @module
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { connect, TIMEOUT_MS } from './instance.js';
import { endAfterTest } from './owned.js';

const EVERY_MS = 5;

/** How late this process is, whatever the reason, from its construction until it is stopped. */
export class LagMeter {
  readonly #late: { from: number; to: number }[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor() {
    let last = performance.now();
    this.#timer = setInterval(() => {
      const now = performance.now();
      if (now - last > 2 * EVERY_MS) this.#late.push({ from: last, to: now });
      last = now;
    }, EVERY_MS);
  }

  /** How long the loop stood still between two instants. */
  between(from: number, to: number): number {
    return this.#late
      .filter((gap) => gap.from < to && gap.to > from)
      .reduce((sum, gap) => sum + gap.to - gap.from - EVERY_MS, 0);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}

/** How slow a server is that is well, from its construction until the test is over. */
export class Pulse {
  readonly #pings: { from: number; to: number }[] = [];
  #stopped = false;

  constructor(port: number) {
    endAfterTest(() => {
      this.#stopped = true;
    });
    void this.#beat(connect(port));
  }

  /** Whether the server took half the deadline for doing nothing, at some time between the two instants. */
  wasSlow(fromMs: number, toMs: number): boolean {
    return this.#pings.some(({ from, to }) => from < toMs && to > fromMs && to - from > TIMEOUT_MS / 2);
  }

  async #beat(client: Redis): Promise<void> {
    while (!this.#stopped) {
      const from = performance.now();
      await client.ping().catch(() => {});
      this.#pings.push({ from, to: performance.now() });
      await sleep(5);
    }
  }
}
