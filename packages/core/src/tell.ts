/**
 * Calling what the user gave to be told.
 *
 * @module
 */

/** Calls a listener. One that throws, or rejects, is its owner's mistake: it must not fail a request, nor pass unnoticed. */
export function tell<Event>(listener: (event: Event) => unknown, event: Event): void {
  const warn = (error: unknown) => process.emitWarning(error instanceof Error ? error : String(error));
  try {
    Promise.resolve(listener(event)).catch(warn);
  } catch (error) {
    warn(error);
  }
}
