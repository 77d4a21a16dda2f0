-- Token bucket: `burst` tokens at most, refilled at `rate` tokens per `period` ms; see token-bucket.ts.
-- numbers: burst, rate, period. state: tokens, part, at, rate, period (those it was written under).

-- The debt as it stands now: aged at the rate it was written under, then in units of this one.
local function age(numbers, state, now)
  local burst, period = numbers[1], numbers[3]
  local tokens, part = state[1] or 0, state[2] or 0
  local at = math.max(now, state[3] or 0)
  local storedRate, storedPeriod = state[4] or 0, state[5] or 0
  if storedPeriod > 0 then
    local elapsed = at - state[3]
    local back, rest = mulDiv(elapsed, storedRate, storedPeriod)
    tokens = tokens - back
    part = part - rest
    if part < 0 then
      part = part + storedPeriod
      tokens = tokens - 1
    end
    if tokens < 0 then tokens, part = 0, 0 end
    if storedPeriod ~= period then part = ceilMulDiv(part, period, storedPeriod) end
    if part == period then
      part = 0
      tokens = tokens + 1
    end
    if tokens >= burst then
      tokens = burst
      part = 0
    end
  end
  return tokens, part, at
end

-- The ms in which `tokens` and `part` come back, rounded up.
local function time(tokens, part, rate, period)
  local debt = tokens * period + part
  if debt == 0 then return 0 end
  if debt <= MOST then return math.ceil(debt / rate) end
  local wholes, rest = mulDiv(tokens, period, rate)
  wholes = wholes + math.floor(part / rate)
  local partRest = part % rate
  if rest == 0 and partRest == 0 then return math.min(wholes, MOST) end
  return math.min(wholes + (rest > rate - partRest and 2 or 1), MOST)
end

local function decide(numbers, state, now, cost)
  local burst, rate, period = numbers[1], numbers[2], numbers[3]

  local tokens, part, at = age(numbers, state, now)

  local room = burst - tokens - (part > 0 and 1 or 0)
  local fits = cost <= room or cost == 0
  local charged = cost > 0 and fits
  local retry = fits and 0 or cost > burst and NEVER or time(tokens - (burst - cost), part, rate, period)
  if charged then tokens = tokens + cost end

  return {
    fits and 1 or 0,
    math.max(0, charged and room - cost or room),
    retry,
    time(tokens, part, rate, period),
    0,
    at,
  }, charged and IF_ADMITTED or NOTHING, { tokens, part, at, rate, period }
end

local function refund(numbers, state, now, units)
  state[1] = state[1] - units
  if state[1] < 0 then state[1], state[2] = 0, 0 end
  return state
end

return decide, refund, time
