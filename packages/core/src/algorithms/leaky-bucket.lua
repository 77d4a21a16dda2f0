-- Leaky bucket: a queue of `capacity` units that lets requests out evenly; see leaky-bucket.ts.
-- numbers and state: as in token-bucket.lua, with the capacity for the burst.

-- What token-bucket.lua decides by stands before this, and what it corrects by before `refund`.
local bucketDecide = decide

local function decide(state, now, cost, settles, capacity, rate, period, own)
  local remaining, retry, reset, at, delay, writes, next, tokens, part =
    bucketDecide(state, now, cost, settles, capacity, rate, period, own)
  if writes == IF_ADMITTED then
    delay = time(tokens - cost, part, rate, period)
  elseif cost == 0 then
    -- It takes no place, so the level goes on leaking as it was.
    delay = reset
  end
  return remaining, retry, reset, at, delay, writes, next
end

if not corrects then return decide, KIND end

local bucketRefund = refund

local function refund(state, now, units, at, level, capacity)
  local tokens, part, stored = struct.unpack('<ddd', state, 2)
  if units > 0 and (stored ~= at or tokens + (part > 0 and 1 or 0) ~= level) then return state end
  return bucketRefund(state, now, units, at, level, capacity)
end

return decide, KIND, false, refund
