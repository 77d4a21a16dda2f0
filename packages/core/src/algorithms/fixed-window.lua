-- Fixed window: one count per window, windows aligned to the epoch; see fixed-window.ts.
-- numbers: limit, window, countDenied. state: k (number of the window), window, used.

local function decide(numbers, state, now, cost)
  local limit, window, countDenied = numbers[1], numbers[2], numbers[3]
  local stored = state[2] or 0
  local at = now
  local used = 0
  if stored > 0 then
    local start = state[1] * stored
    if start > at then at = start end
    if math.floor(at / stored) == state[1] then used = state[3] end
    -- Written under another window: what was used stays used, in the window of the new kind.
    if stored ~= window and used > limit then used = limit end
  end
  local k = math.floor(at / window)

  local room = limit - used
  local fits = cost <= room or cost == 0
  local writes = NOTHING
  if cost > 0 and countDenied == 1 and cost <= limit then
    used = math.min(used + cost, MOST)
    writes = ALWAYS
  elseif cost > 0 and fits then
    used = used + cost
    writes = IF_ADMITTED
  end

  local left = (k + 1) * window - at
  return {
    fits and 1 or 0,
    math.max(0, limit - used),
    fits and 0 or cost > limit and NEVER or left,
    used > 0 and left or 0,
    0,
    at,
  }, writes, { k, window, used }
end

local function refund(numbers, state, now, units, charge)
  local window = state[2]
  if math.floor(charge.at / window) == state[1] then
    state[3] = math.max(0, state[3] - units)
  end
  return state
end

return decide, refund
