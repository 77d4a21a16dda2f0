-- GCRA: a token bucket kept as one instant, the theoretical arrival time, in units of 1 / rate ms; see gcra.ts.
-- numbers: burst, rate, period. state: tat, rate, period (those it was written under).

-- 2035-01-01T00:00Z
local EPOCH = 2051222400000

-- How far the theoretical arrival time lies ahead, in the units it was written in.
local function debtAt(state, now)
  return math.max(0, (state[1] or 0) - (now - EPOCH) * (state[2] or 0))
end

local function decide(numbers, state, now, cost)
  local burst, rate, period = numbers[1], numbers[2], numbers[3]

  local debt = debtAt(state, now)
  local storedPeriod = state[3] or 0
  if storedPeriod > 0 and storedPeriod ~= period then debt = ceilMulDiv(debt, period, storedPeriod) end
  -- More than the capacity is only seen after the clock stepped back, or after the capacity shrank.
  debt = math.min(debt, burst * period)

  local room = math.floor((burst * period - debt) / period)
  local fits = cost <= room or cost == 0
  local charged = cost > 0 and fits
  local retry = 0
  if not fits then
    retry = cost > burst and NEVER or math.ceil((debt + cost * period - burst * period) / rate)
  end
  if charged then debt = debt + cost * period end

  return {
    fits and 1 or 0,
    charged and room - cost or room,
    retry,
    debt == 0 and 0 or math.ceil(debt / rate),
    0,
    now,
  }, charged and IF_ADMITTED or NOTHING, { (now - EPOCH) * rate + debt, rate, period }
end

local function refund(numbers, state, now, units)
  local storedPeriod = state[3]
  local debt = math.min(debtAt(state, now), numbers[1] * storedPeriod)
  state[1] = (now - EPOCH) * state[2] + math.max(0, debt - units * storedPeriod)
  return state
end

return decide, refund
