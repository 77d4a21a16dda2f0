-- GCRA: a token bucket kept as one instant, the theoretical arrival time, in units of 1 / rate ms; see gcra.ts.
-- numbers: burst, rate, period. state: tat, rate, period (those it was written under).

-- 2035-01-01T00:00Z
local EPOCH = 2051222400000

-- What a state of this algorithm begins with: of another kind, it counts as absent.
local KIND = 4

local function decide(state, now, cost, burst, rate, period)
  local debt = 0
  if state then
    local tat, storedRate, storedPeriod = struct.unpack('<ddd', state, 2)
    -- How far the theoretical arrival time lies ahead, in the units it was written in.
    debt = tat - (now - EPOCH) * storedRate
    if debt < 0 then debt = 0 end
    if storedPeriod ~= period then debt = ceilMulDiv(debt, period, storedPeriod) end
  end
  -- More than the capacity is only seen after the clock stepped back, or after the capacity shrank.
  local capacity = burst * period
  if debt > capacity then debt = capacity end

  local room = math.floor((capacity - debt) / period)
  local fits = cost <= room or cost == 0
  local charged = cost > 0 and fits
  local retry = 0
  if not fits then retry = cost > burst and NEVER or math.ceil((debt + cost * period - capacity) / rate) end
  if charged then
    debt = debt + cost * period
    room = room - cost
  end

  return {
    room,
    retry,
    debt == 0 and 0 or math.ceil(debt / rate),
    now,
    0,
  }, charged and IF_ADMITTED or NOTHING, charged and struct.pack('<Bddd', KIND, (now - EPOCH) * rate + debt, rate, period)
end

-- Making a function costs; most calls are no refunds.
if ARGV[1] ~= 'refund' then return decide, nil, nil, KIND end

local function refund(state, now, units, at, level, burst)
  local tat, rate, period = struct.unpack('<ddd', state, 2)
  local debt = math.min(math.max(0, tat - (now - EPOCH) * rate), burst * period)
  return struct.pack('<Bddd', KIND, (now - EPOCH) * rate + math.max(0, debt - units * period), rate, period)
end

return decide, refund, nil, KIND
