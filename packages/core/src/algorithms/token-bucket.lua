-- Token bucket: `burst` tokens at most, refilled at `rate` tokens per `period` ms; see token-bucket.ts.
-- numbers: burst, rate, period. state: tokens, part, at, rate, period (those it was written under).

-- What a state of this algorithm and of leaky-bucket begins with: of another kind, it counts as absent.
local KIND = 3

-- The debt as it stands now: aged at the rate it was written under, then in units of this one.
local function age(state, now, burst, period)
  if not state then return 0, 0, now end
  local tokens, part, stored, storedRate, storedPeriod = struct.unpack('<ddddd', state, 2)
  local at = now
  if stored > at then at = stored end
  local back, rest = mulDiv(at - stored, storedRate, storedPeriod)
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
  if tokens >= burst then tokens, part = burst, 0 end
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

local function decide(state, now, cost, burst, rate, period)
  local tokens, part, at = age(state, now, burst, period)

  local room = burst - tokens - (part > 0 and 1 or 0)
  local fits = cost <= room or cost == 0
  local charged = cost > 0 and fits
  local retry = fits and 0 or cost > burst and NEVER or time(tokens - (burst - cost), part, rate, period)
  -- What is in front of the request; a leaky bucket waits for it.
  local level = tokens
  if charged then
    tokens = tokens + cost
    room = room - cost
  end

  return {
    room > 0 and room or 0,
    retry,
    time(tokens, part, rate, period),
    at,
    0,
  }, charged and IF_ADMITTED or NOTHING, charged and struct.pack('<Bddddd', KIND, tokens, part, at, rate, period), level, part
end

local function refund(state, now, units)
  local tokens, part, at, rate, period = struct.unpack('<ddddd', state, 2)
  tokens = tokens - units
  if tokens < 0 then tokens, part = 0, 0 end
  return struct.pack('<Bddddd', KIND, tokens, part, at, rate, period)
end

return decide, refund, nil, KIND, time
