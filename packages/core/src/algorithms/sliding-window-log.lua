-- Sliding-window log: every admitted request, exact at every instant; see sliding-window-log.ts.
-- numbers: limit, window. state: a log (redis/log.lua, in scope here) with count, newest, sum and entry(log, i); entries
-- from 1, oldest first.
-- To be stored: forget the first `next` entries, then add the cost at `at`.

-- The first index, from low to high, of which the instant (`bySum`: the sum) is at least `least`, by bisection: no later
-- one is smaller. high if there is none below.
local function firstIndex(log, low, high, least, bySum)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local instant, sum = entry(log, middle)
    if (bySum and sum or instant) >= least then high = middle else low = middle + 1 end
  end
  return low
end

local function decide(log, now, cost, _, limit, window)
  local last, at = log.count, log.newest > now and log.newest or now
  -- Few have gone since the request before this one, so it looks at the front, in steps that double.
  local first, high, oldest = 1, 1, at - window + 1
  while high <= last and entry(log, high) < oldest do first, high = high + 1, 2 * high end
  if first < high then first = firstIndex(log, first, math.min(high, last + 1), oldest) end
  local _, before = entry(log, first - 1)
  local total = log.sum - before

  local room = limit - total
  local fits = cost <= room or cost == 0
  local writes = cost > 0 and fits and IF_ADMITTED or NOTHING

  local retry = 0
  if not fits and cost > limit then
    retry = NEVER
  elseif not fits then
    -- The last at most: debt beyond 2^53 is not exact.
    retry = entry(log, firstIndex(log, first, last, before + (cost - room), true)) + window - at
  end

  local reset = 0
  if writes == IF_ADMITTED then
    reset = window
    room = room - cost
  elseif total > 0 then
    -- A refund can leave entries that cost nothing at the end: the newest that still counts decides.
    local _, below = entry(log, last - 1)
    reset = (below < log.sum and log.newest or entry(log, firstIndex(log, first, last, log.sum, true))) + window - at
  end

  return room > 0 and room or 0, retry, reset, at, 0, writes, first - 1
end

if not corrects then return decide, nil, false, nil, open, add end

-- Takes units from the entry of the charge's instant, or adds negative ones to it; returns whether it is still there.
local function refund(log, now, units, at)
  local i = firstIndex(log, 1, log.count + 1, at)
  if i > log.count then return false end
  local instant, sum = entry(log, i)
  if instant ~= at then return false end
  local _, _, raise, take = ofEntries(log)
  if units < 0 then
    raise(i, -units)
  else
    local _, below = entry(log, i - 1)
    take(i, math.min(units, sum - below))
  end
  return true
end

return decide, nil, false, refund, open, add
