-- a * b / c in whole numbers, also where the product is above 2^53; see exact.ts.
-- All arguments are integers from 0 to 2^53 - 1, c at least 1. Results stop at 2^53 - 1.

-- One function for both, because making a function costs: the floor of a * b / c and the rest or, given `up`, the ceiling.
local function mulDiv(a, b, c, up)
  local product = a * b
  if product <= MOST then
    if up then return math.ceil(product / c) end
    local rest = product % c
    return (product - rest) / c, rest
  end
  -- Multiplies bit by bit and divides on the way, so that nothing in between passes 2^53.
  local part = a % c
  local wholes = (a - part) / c
  local quotient, rest = 0, 0
  local bit = 4503599627370496
  while bit >= 1 do
    quotient = quotient * 2
    if rest >= c - rest then
      rest = rest - (c - rest)
      quotient = quotient + 1
    else
      rest = rest + rest
    end
    if b >= bit then
      b = b - bit
      quotient = quotient + wholes
      if rest >= c - part then
        rest = rest - (c - part)
        quotient = quotient + 1
      else
        rest = rest + part
      end
    end
    if quotient > MOST then quotient = MOST end
    bit = bit / 2
  end
  if up and rest > 0 and quotient < MOST then quotient = quotient + 1 end
  return quotient, rest
end
