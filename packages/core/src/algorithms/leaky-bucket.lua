-- Leaky bucket: a queue of `capacity` units that lets requests out evenly; see leaky-bucket.ts.
-- numbers and state: as in token-bucket.lua, with the capacity for the burst.
-- token-bucket.lua decides, and says the delay as well: it stands before this, the `refund` of both where they correct.

if not corrects then return decide, KIND end

local bucketRefund = refund

local function refund(state, now, units, at, level, capacity)
  local tokens, part, stored = struct.unpack('<ddd', state, 2)
  if units > 0 and (stored ~= at or tokens + (part > 0 and 1 or 0) ~= level) then return state end
  return bucketRefund(state, now, units, at, level, capacity)
end

return decide, KIND, false, refund
