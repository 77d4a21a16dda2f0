/**
 * What a test starts and must not leave behind, even if it fails.
 *
 * @module
 */

const owned: (() => unknown)[] = [];

/** Ends it after the test. */
export function endAfterTest(end: () => unknown): void {
  owned.push(end);
}

// What was started last may need what was started first.
afterEach(async () => {
  for (const end of owned.splice(0).reverse()) await end();
});
