-- Leaky bucket: a queue of `capacity` units that lets requests out evenly; see leaky-bucket.ts.
-- numbers and state: as in token-bucket.lua, with the capacity for the burst.

local bucketDecide, bucketRefund, _, kind, time = algorithm('token-bucket')

local function decide(state, now, cost, capacity, rate, period, own)
  local outcome, writes, next, tokens, part = bucketDecide(state, now, cost, capacity, rate, period, own)
  if writes == IF_ADMITTED then
    outcome[DELAY] = time(tokens - cost, part, rate, period)
  elseif cost == 0 then
    -- It takes no place, so the level goes on leaking as it was.
    outcome[DELAY] = outcome[RESET]
  end
  return outcome, writes, next
end

-- Making a function costs; most calls are no refunds.
if ARGV[1] ~= 'refund' and ARGV[1] ~= 'settle' then return decide, nil, nil, kind end

local function refund(state, now, units, at, level, capacity)
  local tokens, part, stored = struct.unpack('<ddd', state, 2)
  if units > 0 and (stored ~= at or tokens + (part > 0 and 1 or 0) ~= level) then return state end
  return bucketRefund(state, now, units, at, level, capacity)
end

return decide, refund, nil, kind
