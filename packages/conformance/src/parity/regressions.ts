/**
 * Traces on which the stores once differed: kept in a file, and replayed first on every run.
 *
 * @module
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Difference } from './compare.js';
import type { Trace } from './trace.js';

const FILE: string = join(__dirname, '..', '..', 'vectors', 'parity.regressions.json');

export interface Regression {
  /** What was wrong: the field in which the stores differed, or words. */
  readonly about: string;
  /** The seed of the run that found it. */
  readonly seed: number;
  readonly trace: Trace;
}

export function readRegressions(): readonly Regression[] {
  return JSON.parse(readFileSync(FILE, 'utf8'), (_, value) => (value === 'Infinity' ? Infinity : value));
}

export function keepRegression(seed: number, trace: Trace, { field, step }: Difference): void {
  const entry: Regression = { about: `${field || 'the answer'} of step ${step.id}`, seed, trace };
  const text = [...readRegressions(), entry].map((each) => JSON.stringify(each, infinity)).join(',\n');
  writeFileSync(FILE, `[\n${text}\n]\n`);
}

/** JSON has no Infinity. */
function infinity(_: string, value: unknown): unknown {
  return value === Infinity ? 'Infinity' : value;
}
