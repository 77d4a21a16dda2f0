-- Leaky bucket: a queue of `capacity` units that lets requests out evenly; see leaky-bucket.ts.
-- numbers and state: as in token-bucket.lua, with the capacity for the burst.

local bucketDecide, bucketRefund, time = algorithm('token-bucket')

local function decide(numbers, state, now, cost)
  local outcome, writes, next = bucketDecide(numbers, state, now, cost)
  if writes == IF_ADMITTED then
    outcome[5] = time(next[1] - cost, next[2], numbers[2], numbers[3])
  end
  return outcome, writes, next
end

local function refund(numbers, state, now, units, charge)
  local level = state[1] + (state[2] > 0 and 1 or 0)
  if state[3] == charge.at and level == charge.level then
    return bucketRefund(numbers, state, now, units, charge)
  end
  return state
end

return decide, refund
