// The same ids in the same order for every contender.

/** `count` ids such as a limiter of users gets. */
export function makeIds(count) {
  return Array.from({ length: count }, (_, i) => `user:${100_000 + i}`);
}

/** The numbers below `count` in an order without pattern, always the same one. */
export function shuffled(count) {
  const order = Uint32Array.from({ length: count }, (_, i) => i);
  let seed = 1;
  for (let i = count - 1; i > 0; i--) {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    const j = Math.floor((seed / 2 ** 32) * (i + 1));
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
