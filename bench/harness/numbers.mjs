// Medians, and how numbers are shown.

export function median(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The median of the ratios of each round, so that what slowed a whole round down cancels out. */
export function medianRatio(values, to) {
  return median(values.map((value, round) => value / to[round]));
}

/** Three digits that mean something. */
export function short(value) {
  if (typeof value !== 'number') return value ?? '';
  if (!Number.isFinite(value)) return String(value);
  if (Math.abs(value) >= 100) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

export function times(value) {
  return typeof value === 'number' ? `${value.toFixed(2)} x` : '';
}
