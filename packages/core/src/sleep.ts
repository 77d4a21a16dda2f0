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
    const forget = after(ms, () => {
      ignore?.();
      resolve(true);
    });
    const ignore =
      signal &&
      onAbort(signal, () => {
        forget();
        resolve(false);
      });
  });
}

/** What is to be called when a signal is aborted, and the one listener that does. */
interface Waiting {
  readonly works: Set<() => void>;
  readonly listener: () => void;
}

const waiting = new WeakMap<AbortSignal, Waiting>();

/**
 * Calls `work` when the signal is aborted, in the order of the calls. Returns what forgets it. However many wait for a
 * signal, it has one listener: Node takes more than ten for a leak.
 */
function onAbort(signal: AbortSignal, work: () => void): () => void {
  const known = waiting.get(signal) ?? listenTo(signal);
  known.works.add(work);
  return () => {
    known.works.delete(work);
    if (known.works.size > 0) return;
    waiting.delete(signal);
    signal.removeEventListener('abort', known.listener);
  };
}

function listenTo(signal: AbortSignal): Waiting {
  const works = new Set<() => void>();
  const listener = () => {
    waiting.delete(signal);
    for (const work of works) work();
  };
  const made = { works, listener };
  waiting.set(signal, made);
  signal.addEventListener('abort', listener, { once: true });
  return made;
}
