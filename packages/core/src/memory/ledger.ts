/**
 * The state behind the slots of a table: what each policy knows of each key.
 *
 * @module
 */

import { MOST } from '../algorithms/exact.js';
import {
  AT,
  DELAY,
  IF_ADMITTED,
  NEVER,
  NOTHING,
  REMAINING,
  RESET,
  RETRY,
  type Row,
  WRITES,
} from '../algorithms/outcome.js';
import type { ParsedPolicy, Plan } from '../types.js';
import { Ahead } from './ahead.js';
import { Rows } from './column.js';
import { CounterSection } from './counter-section.js';
import { LogSection } from './log-section.js';
import { NumberSection } from './number-section.js';
import type { Section } from './section.js';
import { SharedSection } from './shared-section.js';

export class Ledger {
  /** What its state looks like, by {@link shapeOf}. */
  readonly shape: string;
  /** How many slots are its own. */
  size = 0;
  readonly sections: readonly Section[];
  /** Which states stand ahead of now, as there are reservations. */
  readonly ahead: Ahead = new Ahead();
  /** Per slot: the instant at which it is as new (never, if it is not its own), then each policy's state. */
  readonly rows: Rows<Float64Array>;

  constructor(policies: readonly ParsedPolicy[]) {
    this.shape = shapeOf(policies);
    let width = 1;
    this.sections = policies.map((policy) => {
      const section = sectionOf(policy, width);
      width += section.width;
      return section;
    });
    this.rows = new Rows(width, (length) => {
      const rows = new Float64Array(length);
      for (let base = 0; base < length; base += width) rows[base] = Infinity;
      return rows;
    });
    // No key is in slot 0: its row is that of a key that is new.
    this.rows.reach(0);
  }

  /** Lets these policies, whose state looks the same, take over from those it was made for. */
  adopt(policies: readonly ParsedPolicy[]): void {
    policies.forEach((policy, i) => {
      this.sections[i].adopt(policy);
    });
  }

  /** Judges the key in `slot` by one policy of the plan, and stores nothing. */
  decide(slot: number, plan: Plan, i: number, cost: number, now: number): Row {
    const place = plan.places[i];
    const { numbers } = plan.terms[i];
    const row = this.rows.piece(slot);
    const base = this.rows.base(slot);
    const at = this.ahead.at(slot, place);
    if (at <= now) return this.sections[place].decide(numbers, row, base, now, cost);
    return behind(this.sections[place].decide(numbers, row, base, at, cost), cost, at - now);
  }

  /** Gives a slot that was free to a key. */
  begin(slot: number): void {
    this.rows.reach(slot);
    this.rows.piece(slot)[this.rows.base(slot)] = 0;
    this.size += 1;
  }

  /** Whether a key has the slot here. */
  has(slot: number): boolean {
    return this.rows.has(slot) && this.rows.piece(slot)[this.rows.base(slot)] < Infinity;
  }

  /** Takes a slot over from a ledger of the same algorithms, to the last number of what stands there. */
  take(slot: number, from: Ledger): void {
    this.begin(slot);
    const row = this.rows.piece(slot);
    const base = this.rows.base(slot);
    const fromRow = from.rows.piece(slot);
    const fromBase = from.rows.base(slot);
    row[base] = fromRow[fromBase];
    this.ahead.take(slot, from.ahead);
    this.sections.forEach((section, i) => {
      section.take(from.sections[i], fromRow, fromBase, row, base);
    });
    from.clear(slot);
  }

  /** Stores what was decided last. Of what does not stand ahead of `now`, that it did is forgotten. */
  write(slot: number, plan: Plan, now: number): void {
    const row = this.rows.piece(slot);
    const base = this.rows.base(slot);
    // Policies that this request was not judged by may hold on longer.
    let expires = plan.places.length === this.sections.length ? 0 : row[base];
    for (let i = 0; i < plan.places.length; i++) {
      const section = this.sections[plan.places[i]];
      const { out } = section;
      expires = Math.max(expires, out[AT] + out[RESET]);
      if (out[WRITES] === NOTHING) continue;
      section.write(plan.terms[i].numbers, row, base);
      this.ahead.pass(slot, plan.places[i], now);
    }
    row[base] = expires;
  }

  /** Whether the key in this slot is as new. Of a slot that is not its own `false`. */
  isExpired(slot: number, now: number): boolean {
    return this.rows.piece(slot)[this.rows.base(slot)] <= now;
  }

  /** Makes the slot as new, and gives it up. */
  clear(slot: number): void {
    const row = this.rows.piece(slot);
    const base = this.rows.base(slot);
    for (const section of this.sections) section.clear(row, base);
    this.ahead.clear(slot);
    row[base] = Infinity;
    this.size -= 1;
  }
}

/** What a request is told so long before the instant that it was decided at: nobody passes before, and nothing is written. */
function behind(out: Row, cost: number, wait: number): Row {
  const retry = out[RETRY];
  if (cost > 0 && retry !== NEVER) out[RETRY] = Math.min(retry + wait, MOST);
  out[DELAY] = cost === 0 && out[DELAY] > 0 ? Math.min(out[DELAY] + wait, MOST) : 0;
  out[REMAINING] = 0;
  out[RESET] = Math.min(out[RESET] + wait, MOST);
  out[WRITES] = cost > 0 ? IF_ADMITTED : NOTHING;
  return out;
}

/** Names and kinds of the policies. The two buckets keep the same state, here as in Redis. */
export function kindsOf(policies: readonly ParsedPolicy[]): string {
  const kindOf = (algorithm: string) => (algorithm === 'leaky-bucket' ? 'token-bucket' : algorithm);
  return policies.map(({ name, algorithm }) => `${name}:${kindOf(algorithm)}`).join(' ');
}

/** What state looks like: the same for all policies that it can be read by. */
export function shapeOf(policies: readonly ParsedPolicy[]): string {
  return `${kindsOf(policies)} ${policies.map(({ buckets }) => buckets).join(' ')}`;
}

function sectionOf(policy: ParsedPolicy, offset: number): Section {
  if (policy.algorithm === 'sliding-window-log') return new LogSection(offset);
  if (policy.algorithm === 'sliding-window-counter') return new CounterSection(policy, offset);
  // The buckets have two numbers to share, and three of their own: that would be a sixth less, and cost them a tenth of their time.
  return policy.algorithm === 'gcra' ? new SharedSection(policy, offset) : new NumberSection(policy, offset);
}
