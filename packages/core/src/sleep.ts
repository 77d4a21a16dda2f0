/**
 * Waiting, for however long, and not a moment less.
 *
 * @module
 */

/** Timers cannot be set for longer. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Timers may be early by what is left of a millisecond. More than that is a clock that tests have stopped. */
const EARLY_MS = 1;

/** Calls `work` after `ms`, however many. Returns what forgets it. */
export function after(ms: number, work: () => void): () => void {
  const end = performance.now() + ms;
  let timer: NodeJS.Timeout;
  const wait = (left: number) => {
    timer = setTimeout(() => passed(left), Math.min(left, LONGEST_TIMER));
  };
  const passed = (left: number) => {
    const early = end - performance.now();
    if (left > LONGEST_TIMER) wait(left - LONGEST_TIMER);
    else if (early > 0 && early <= EARLY_MS) wait(EARLY_MS);
    else work();
  };
  wait(ms);
  return () => clearTimeout(timer);
}

/** Resolves after `ms` with `true`, or with `false` as soon as the signal is aborted. Sets no timer for 0 ms. */
export function sleep(ms: number, signal: AbortSignal | undefined): Promise<boolean> {
  if (signal?.aborted) return Promise.resolve(false);
  if (ms === 0) return Promise.resolve(true);
  return new Promise((resolve) => {
    const aborted = () => {
      forget();
      resolve(false);
    };
    const forget = after(ms, () => {
      signal?.removeEventListener('abort', aborted);
      resolve(true);
    });
    signal?.addEventListener('abort', aborted, { once: true });
  });
}
