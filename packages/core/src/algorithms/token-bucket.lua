-- Token bucket: `burst` tokens at most, refilled at `rate` tokens per `period` ms; see token-bucket.ts.
-- numbers: burst, rate, period, own (1 if the limit is the policy's own, 0 if it is this request's).
-- state: tokens, part, at, rate, period (those it was written under; the period negative if under one request's limit,
--   the rate negative if debt beyond the capacity is meant: a request cost more than was expected).
-- QUEUES: whether it decides for leaky-bucket.lua.

-- What a state of this algorithm and of leaky-bucket begins with: of another kind, it counts as absent.
local KIND = 3

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

local function decide(state, now, cost, settles, burst, rate, period, own)
  local tokens, part, at, storedRate, storedPeriod, takesOver, meant = 0, 0, now, rate, period, own == 1, false
  if state then
    tokens, part, at, storedRate, storedPeriod = struct.unpack('<ddddd', state, 2)
    if storedPeriod < 0 then takesOver, storedPeriod = false, -storedPeriod end
    if storedRate < 0 then meant, storedRate = true, -storedRate end
    if now > at then
      -- The debt ages in the units it was written in.
      local back, rest = mulDiv(now - at, storedRate, storedPeriod)
      at, tokens, part = now, tokens - back, part - rest
      if part < 0 then tokens, part = tokens - 1, part + storedPeriod end
      if tokens < 0 then tokens, part = 0, 0 end
    end
  end
  local over = tokens > burst and not meant
  local changed = takesOver and (storedRate ~= rate or storedPeriod ~= period or over)
  if changed then
    part = mulDiv(part, period, storedPeriod, UP)
    if tokens >= burst then tokens, part = burst, 0 end
    storedRate, storedPeriod = rate, period
  end

  local room = burst - tokens - (part > 0 and 1 or 0)
  local fits = cost <= room or cost == 0
  local retry = 0
  if not fits then
    retry = cost > burst and NEVER or time(tokens - (burst - cost), part, storedRate, storedPeriod)
  end
  local charged = cost > 0 and fits
  if charged then
    if storedPeriod ~= period then part = mulDiv(part, period, storedPeriod, UP) end
    tokens = tokens + cost
    if part == period then
      part = 0
      tokens = tokens + 1
    end
    room = burst - tokens - (part > 0 and 1 or 0)
    storedRate, storedPeriod = rate, period
  end

  -- What was taken over is stored even if the request is denied: or else it would be taken over again later.
  local writes = charged and IF_ADMITTED or changed and not fits and cost <= burst and ALWAYS or NOTHING

  local next
  if writes == NOTHING and settles and state and not changed then
    -- As it was written, but for the debt.
    next = struct.pack('<Bddd', KIND, tokens, part, at) .. string.sub(state, 26)
  elseif writes ~= NOTHING or settles then
    next = struct.pack('<Bddddd', KIND, tokens, part, at, rate, own == 1 and period or -period)
  end
  local reset = time(tokens, part, storedRate, storedPeriod)
  -- What leaky-bucket.ts does after this: here, as a function around this one would have to be made on every call.
  local delay = 0
  if QUEUES and charged then
    delay = time(tokens - cost, part, rate, period)
  elseif QUEUES and cost == 0 then
    -- It takes no place, so the level goes on leaking as it was.
    delay = reset
  end
  return room > 0 and room or 0, retry, reset, at, delay, writes, next
end

if not corrects then return decide, KIND end

local function refund(state, now, units, _, _, burst)
  -- Under a limit of 0 debt would never come back.
  if units < 0 and burst == 0 then return state, -units end
  local tokens, part, at, rate, period = struct.unpack('<ddddd', state, 2)
  tokens = math.min(tokens - units, MOST)
  if tokens < 0 then tokens, part = 0, 0 end
  if units < 0 then rate = -math.abs(rate) end
  return struct.pack('<Bddddd', KIND, tokens, part, at, rate, period)
end

return decide, KIND, false, refund
