/**
 * `a * b / c` in whole numbers, also where the product is above 2^53.
 *
 * All arguments are integers from 0 to 2^53 - 1, `c` at least 1. Results stop at 2^53 - 1.
 * Below 2^53 a product is exact, and so are the floor and the ceiling of its quotient: the quotient is at least
 * 1 / c away from any integer that it is not, and doubles are closer together than that.
 *
 * @module
 */

/** The largest integer that a double holds together with all below it: 2^53 - 1. */
export const MOST: number = Number.MAX_SAFE_INTEGER;

/** Returns the floor of `a * b / c`. */
export function floorMulDiv(a: number, b: number, c: number): number {
  const product = a * b;
  return product <= MOST ? Math.floor(product / c) : longMulDiv(a, b, c)[0];
}

/** Returns the ceiling of `a * b / c`. */
export function ceilMulDiv(a: number, b: number, c: number): number {
  const product = a * b;
  if (product <= MOST) return Math.ceil(product / c);
  const [quotient, rest] = longMulDiv(a, b, c);
  return rest > 0 ? Math.min(quotient + 1, MOST) : quotient;
}

/** Returns what the division of `a * b` by `c` leaves over. */
export function restMulDiv(a: number, b: number, c: number): number {
  const product = a * b;
  return product <= MOST ? product % c : longMulDiv(a, b, c)[1];
}

/** Multiplies bit by bit and divides on the way, so that nothing in between passes 2^53. */
function longMulDiv(a: number, b: number, c: number): [quotient: number, rest: number] {
  const wholes = Math.floor(a / c);
  const part = a % c;
  let quotient = 0;
  let rest = 0;
  for (let bit = 2 ** 52; bit >= 1; bit /= 2) {
    quotient *= 2;
    if (rest >= c - rest) {
      rest -= c - rest;
      quotient += 1;
    } else rest += rest;
    if (b >= bit) {
      b -= bit;
      quotient += wholes;
      if (rest >= c - part) {
        rest -= c - part;
        quotient += 1;
      } else rest += part;
    }
    if (quotient > MOST) quotient = MOST;
  }
  return [quotient, rest];
}

/** Returns the greatest common divisor, `b` if `a` is 0. */
export function gcd(a: number, b: number): number {
  while (a > 0) [a, b] = [b % a, a];
  return b;
}
