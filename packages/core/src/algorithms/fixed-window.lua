-- Fixed window: one count per window, windows aligned to the epoch; see fixed-window.ts.
-- numbers: limit, window, own (the policy's own limit), countDenied. state: k (number of the window), window, used.

-- What a state of this algorithm begins with: of another kind, it counts as absent.
local KIND = 1

local function decide(state, now, cost, settles, limit, window, own, countDenied)
  local k, stored, used = 0, 0, 0
  if state then k, stored, used = struct.unpack('<ddd', state, 2) end
  local at = now
  if stored > 0 then
    local start = k * stored
    if start > at then at = start end
    if at - at % stored ~= start then used = 0 end
    -- Written under another window: what was used stays used, in the window of the new kind; at most what the policy
    -- holds, whatever this request's limit is, because it is stored for all.
    if stored ~= window and used > own then used = own end
  end
  local left = window - at % window

  local room = limit - used
  local fits = cost <= room or cost == 0
  local writes = NOTHING
  if cost > 0 and countDenied == 1 and cost <= limit then
    used = used + cost
    if used > MOST then used = MOST end
    writes = ALWAYS
  elseif cost > 0 and fits then
    used = used + cost
    writes = IF_ADMITTED
  elseif stored > 0 and stored ~= window and cost > 0 and cost <= limit then
    -- Or else each later request would find it all in its own window again, and wait for ever.
    writes = ALWAYS
  end

  return used < limit and limit - used or 0,
    fits and 0 or cost > limit and NEVER or left,
    used > 0 and left or 0,
    at,
    0,
    writes,
    (writes ~= NOTHING or settles) and struct.pack('<Bddd', KIND, (at + left) / window - 1, window, used)
end

if not corrects then return decide, KIND, ALIGNED end

local function refund(state, now, units, at)
  local k, window, used = struct.unpack('<ddd', state, 2)
  if math.floor(at / window) == k then used = math.min(math.max(0, used - units), MOST) end
  return struct.pack('<Bddd', KIND, k, window, used)
end

return decide, KIND, ALIGNED, refund
