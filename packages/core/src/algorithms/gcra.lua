-- GCRA: a token bucket kept as one instant, the theoretical arrival time, in units of 1 / rate ms; see gcra.ts.
-- numbers: burst, rate, period, own (as in token-bucket.lua). state: tat, burst, rate, period (as in token-bucket.lua).

-- 2035-01-01T00:00Z
local EPOCH = 2051222400000

-- What a state of this algorithm begins with: of another kind, it counts as absent.
local KIND = 4

-- Kind and state. Most fit into NARROW, whose 12 bytes are the most that Redis keeps in a 32-byte piece of memory.
local NARROW = '<Bi6I2BI2'
local WIDE = '<Bdddd'
local NARROW_BYTES = 12

-- How far the theoretical arrival time lies ahead, in the units it was written in. More than the capacity it was
-- written under is only seen after the clock stepped back.
local function debtAt(now, tat, burst, rate, period)
  local debt = tat - (now - EPOCH) * rate
  if debt > burst * period then debt = burst * period end
  if debt < 0 then debt = 0 end
  return debt
end

local function decide(state, now, cost, settles, burst, rate, period, own)
  local debt, storedRate, storedPeriod, takesOver = 0, rate, period, own == 1
  local storedBurst, written
  if state then
    local _, tat
    _, tat, storedBurst, storedRate, storedPeriod = struct.unpack(#state == NARROW_BYTES and NARROW or WIDE, state)
    written = storedPeriod
    if storedPeriod < 0 then takesOver, storedPeriod = false, -storedPeriod end
    debt = debtAt(now, tat, storedBurst, storedRate, storedPeriod)
  end
  local changed = takesOver
    and (storedRate ~= rate or storedPeriod ~= period or debt > burst * storedPeriod)
  if changed then
    debt = math.min(mulDiv(debt, period, storedPeriod, UP), burst * period)
    storedRate, storedPeriod = rate, period
  end

  local room = burst - math.ceil(debt / storedPeriod)
  local fits = cost <= room or cost == 0
  local retry = 0
  if not fits then
    retry = cost > burst and NEVER or math.ceil((debt - (burst - cost) * storedPeriod) / storedRate)
  end
  local charged = cost > 0 and fits
  if charged then
    if storedPeriod ~= period then debt = mulDiv(debt, period, storedPeriod, UP) end
    debt = debt + cost * period
    room = burst - math.ceil(debt / period)
    storedRate, storedPeriod = rate, period
  end
  local reset = debt == 0 and 0 or math.ceil(debt / storedRate)

  -- What was taken over is stored even if the request is denied: or else it would be taken over again later.
  local writes = charged and IF_ADMITTED or changed and not fits and cost <= burst and ALWAYS or NOTHING

  local next
  if writes == NOTHING and settles and state and not changed then
    -- As it was written, but for the debt.
    next = struct.pack(WIDE, KIND, (now - EPOCH) * storedRate + debt, storedBurst, storedRate, written)
  elseif writes ~= NOTHING or settles then
    local tat = (now - EPOCH) * rate + debt
    local narrow = own == 1 and burst < 65536 and rate < 256 and period < 65536 and tat < 1e14 and tat > -1e14
    next = struct.pack(narrow and NARROW or WIDE, KIND, tat, burst, rate, own == 1 and period or -period)
  end
  return room > 0 and room or 0, retry, reset, now, 0, writes, next
end

if not corrects then return decide, KIND end

local function refund(state, now, units)
  local _, tat, burst, rate, period = struct.unpack(#state == NARROW_BYTES and NARROW or WIDE, state)
  local size = math.abs(period)
  local before = debtAt(now, tat, burst, rate, size)
  -- No more than the capacity, so that it stays exact: more could not be told from a clock that stepped back.
  local debt = math.max(0, math.min(before - units * size, burst * size))
  local lacking = units < 0 and -units - math.floor((debt - before) / size) or 0
  return struct.pack(WIDE, KIND, (now - EPOCH) * rate + debt, burst, rate, period), lacking
end

-- How far a state that stands at `at` can be moved back, as far as there is room for the debt that it had, not before now;
-- returns when it stands. It says the same.
local function recede(state, at, now)
  local _, tat, burst, rate, period = struct.unpack(#state == NARROW_BYTES and NARROW or WIDE, state)
  local size = math.abs(period)
  local room = burst * size - debtAt(at, tat, burst, rate, size)
  return state, at - math.min(at - now, math.floor(room / rate))
end

return decide, KIND, false, refund, nil, nil, recede
