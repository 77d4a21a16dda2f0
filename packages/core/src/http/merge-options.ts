/**
 * The options of a route over those of the whole application.
 *
 * @module
 */

import { ALGORITHM_OPTIONS, POLICY_OPTIONS } from '../policy.js';
import type { AlgorithmName } from '../types.js';
import { CHOSEN, given, optionOf } from './options.js';

/** Options that say what the policy is, and who answers. A route's own choice of one kind replaces the other kinds. */
const KINDS: readonly (readonly (readonly string[])[])[] = [
  [POLICY_OPTIONS, ['policies'], ['limits'], ['limiter']],
  [['handler'], ['body', 'contentType'], ['throw']],
];

/**
 * Returns `general` as far as `special` leaves it: option by option, but what kind of policy it is, and who answers, as
 * a whole. Another algorithm takes what has a meaning to it.
 */
export function mergeOptions<Options extends object>(general: Options, special: Partial<Options>): Options {
  const merged = { ...general } as Record<string, unknown>;
  for (const kinds of KINDS) {
    const chosen = kindOf(special, kinds);
    if (chosen === undefined || chosen === kindOf(general, kinds)) continue;
    for (const option of kinds.flat()) delete merged[option];
  }
  // Each of the limits has its own.
  if (given(special, 'limits')) delete merged.key;
  if (given(special, 'limiter')) for (const option of CHOSEN) delete merged[option];
  for (const option of foreignTo(optionOf(special, 'algorithm'))) delete merged[option];
  for (const [option, value] of Object.entries(special)) if (value !== undefined) merged[option] = value;
  return merged as Options;
}

/** The options of other algorithms that mean nothing to this one, if it is one. */
function foreignTo(algorithm: unknown): readonly string[] {
  const own = ALGORITHM_OPTIONS[algorithm as AlgorithmName];
  if (own === undefined) return [];
  return Object.values(ALGORITHM_OPTIONS)
    .flat()
    .filter((option) => !own.includes(option));
}

/** The kind that the options choose: a function for a limit goes with every kind, and what is off is no choice. */
function kindOf(options: object, kinds: readonly (readonly string[])[]): readonly string[] | undefined {
  const chooses = (option: string) => {
    const value = optionOf(options, option);
    return value !== undefined && value !== false && !(option === 'limit' && typeof value === 'function');
  };
  return kinds.find((kind) => kind.some(chooses));
}
