/**
 * A circuit breaker: a store that does not serve is not asked, so that it costs nobody the time of the deadline.
 *
 * Closed, calls go through. After {@link FAILURES} failures in a row it opens, unless a call was served just before: a
 * node of a cluster that is away must not keep requests from the others. Open, calls are refused. {@link OPEN_MS} later a
 * single call is let through as a probe, and decides.
 *
 * @module
 */

/** How many failures in a row open it. */
const FAILURES = 3;

/** For how long nothing must have been served. */
const QUIET_MS = 100;

/** How long it stays open before it lets a probe through. */
const OPEN_MS = 500;

/** A call that was let through: results of calls that began before the last change say nothing about what is now. */
export type Ticket = number;

/** The ticket of a call that is refused. */
export const REFUSED: Ticket = -1;

export class Breaker<E> {
  readonly #onChange: (state: 'open' | 'closed', error?: E) => void;
  readonly #nowMs: () => number;
  #open = false;
  #failures = 0;
  #servedMs = -Infinity;
  /** When a probe may go, by a clock that never steps back. */
  #probeMs = 0;
  #era: Ticket = 0;

  /** @param onChange - called once per change, with the error that opened it. */
  constructor(
    onChange: (state: 'open' | 'closed', error?: E) => void,
    nowMs: () => number = () => performance.now(),
  ) {
    this.#onChange = onChange;
    this.#nowMs = nowMs;
  }

  /** Whether all calls are let through. */
  get closed(): boolean {
    return !this.#open;
  }

  /** Returns a ticket, or {@link REFUSED}. Whoever gets a ticket must say how it went. */
  admit(): Ticket {
    if (!this.#open) return this.#era;
    const leftMs = this.#probeMs - this.#nowMs();
    // More than that is the time of fake timers that are gone.
    if (leftMs > 0 && (leftMs <= OPEN_MS || leftMs === Infinity)) return REFUSED;
    this.#probeMs = Infinity;
    this.#era += 1;
    return this.#era;
  }

  /** The call with this ticket was served. */
  served(ticket: Ticket): void {
    if (ticket !== this.#era) return;
    this.#failures = 0;
    this.#servedMs = this.#nowMs();
    if (!this.#open) return;
    this.#open = false;
    this.#era += 1;
    this.#onChange('closed');
  }

  /** The call with this ticket was not served. */
  failed(ticket: Ticket, error: E): void {
    if (ticket !== this.#era) return;
    this.#failures += 1;
    if (!this.#open && (this.#failures < FAILURES || this.#nowMs() - this.#servedMs < QUIET_MS)) return;
    const wasOpen = this.#open;
    this.#open = true;
    this.#era += 1;
    this.#probeMs = this.#nowMs() + OPEN_MS;
    if (!wasOpen) this.#onChange('open', error);
  }
}
