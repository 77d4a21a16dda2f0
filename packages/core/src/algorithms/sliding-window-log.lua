-- Sliding-window log: every admitted request, exact at every instant; see sliding-window-log.ts.
-- numbers: limit, window. state: a log (redis/log.lua, in scope here) with count, instant(i), sum(i); entries from 1,
-- oldest first.
-- To be stored: forget the first `next` entries, then add the cost at `at`.

-- The first index of which holds(i) is true, by bisection: once true, it stays true. count + 1 if there is none.
local function firstIndex(log, holds)
  local low, high = 1, log.count + 1
  while low < high do
    local middle = math.floor((low + high) / 2)
    if holds(middle) then high = middle else low = middle + 1 end
  end
  return low
end

local function decide(log, now, cost, limit, window)
  local last = log.count
  local at = last >= 1 and math.max(now, log.instant(last)) or now
  local first = firstIndex(log, function(i) return log.instant(i) > at - window end)
  local before = log.sum(first - 1)
  local total = log.sum(last) - before

  local room = limit - total
  local fits = cost <= room or cost == 0
  local writes = cost > 0 and fits and IF_ADMITTED or NOTHING

  local retry = 0
  if not fits and cost > limit then
    retry = NEVER
  elseif not fits then
    local leaves = firstIndex(log, function(i) return log.sum(i) >= before + (cost - room) end)
    retry = log.instant(leaves) + window - at
  end

  local reset = 0
  if writes == IF_ADMITTED then
    reset = window
  elseif total > 0 then
    -- A refund can leave entries that cost nothing at the end: the newest that still counts decides.
    local sum = log.sum(last)
    local newest = firstIndex(log, function(i) return log.sum(i) >= sum end)
    reset = log.instant(newest) + window - at
  end

  return {
    math.max(0, writes == IF_ADMITTED and room - cost or room),
    retry,
    reset,
    at,
    0,
  }, writes, first - 1
end

-- Making a function costs; most calls are no refunds.
if ARGV[1] ~= 'refund' and ARGV[1] ~= 'settle' then return decide, nil, open end

-- Takes units from the entry of the charge's instant, or adds negative ones to it; returns whether it is still there.
local function refund(log, now, units, at)
  local i = firstIndex(log, function(i) return log.instant(i) >= at end)
  if i > log.count or log.instant(i) ~= at then return false end
  if units < 0 then
    log.raise(i, -units)
  else
    log.take(i, math.min(units, log.sum(i) - log.sum(i - 1)))
  end
  return true
end

return decide, refund, open
