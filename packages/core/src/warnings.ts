/**
 * Warnings of what is allowed but cannot be meant. Each is given once per process, and has a heading in
 * `docs/reference/errors.md`; `node --disable-warning=CODE` is for those who do mean it.
 *
 * @module
 */

import { perProcess } from './per-process.js';

/** The codes of the warnings. */
export type WarningCode =
  | 'SLUICE_NO_ADDRESS'
  | 'SLUICE_PROXY_NOT_TRUSTED'
  | 'SLUICE_EVERYONE_TRUSTED'
  | 'SLUICE_LIMITER_PER_REQUEST'
  | 'SLUICE_MEMORY_NOT_SHARED'
  | 'SLUICE_COUNT_ONLY_FAILED'
  | 'SLUICE_RESENDING_CLIENT'
  | 'SLUICE_STORE_FAILING'
  | 'SLUICE_UPGRADE_FAILED'
  | 'SLUICE_MESSAGE_FAILED';

const given = () => perProcess('warnings', () => new Set<string>());

/** Whether there was a warning of this code. */
export function warnedOf(code: WarningCode): boolean {
  return given().has(code);
}

/** Warns, unless it has been said before. */
export function warnOnce(
  code: WarningCode,
  message: string,
  page: string = `docs/reference/errors.md#${code.toLowerCase()}`,
): void {
  if (given().has(code)) return;
  given().add(code);
  process.emitWarning(message, { type: 'SluiceWarning', code, detail: `See ${page}.` });
}
