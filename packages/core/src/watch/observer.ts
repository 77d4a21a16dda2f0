/**
 * Who looks on while a limiter decides.
 *
 * @module
 */

import type { Decision, Duration } from '../types.js';

/** Is told of every request that was decided, and of what becomes of its charge. */
export interface Observer {
  /** @param told - what the caller got, by which it is corrected; in shadow mode not the decision itself. */
  observe(key: string, decision: Decision, told: Decision): void;
  refund?(decision: Decision, units: number | undefined): void;
  settle?(decision: Decision, units: number): void;
  reset?(key: string): void;
  block?(key: string, duration: Duration): void;
  unblock?(key: string): void;
  close?(): void;
}
