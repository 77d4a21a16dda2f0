-- Sliding-window counter: the window cut into buckets, the oldest of which counts in part;
-- see sliding-window-counter.ts for the formula.
-- numbers: limit, bucket (ms), buckets, edge (0 weighted, 1 drop, 2 keep), down, countDenied.
-- state: s, bucket (ms), total, then the counts of the buckets s - 1 … s - buckets.

local DROP = 1
local KEEP = 2

-- Where the count of bucket s - i stands in a state: at COUNTS + i.
local COUNTS = 3

local function formatFor(buckets)
  return buckets == 1 and '<dddd' or '<' .. string.rep('d', COUNTS + buckets)
end

-- The current bucket's own count.
local function current(state, buckets)
  local count = state[3]
  for i = 1, buckets - 1 do count = count - state[COUNTS + i] end
  return count
end

-- The state with bucket s as its current one.
local function advance(state, buckets, s)
  local steps = s - state[1]
  if steps == 0 then return state end
  local total = 0
  local moved = { s, state[2], 0 }
  for i = 1, buckets do
    local count = 0
    if i == steps then
      count = current(state, buckets)
    elseif i > steps then
      count = state[COUNTS + i - steps]
    end
    moved[COUNTS + i] = count
    if i < buckets then total = total + count end
  end
  moved[3] = total
  return moved
end

-- What of the edge bucket's `old` counts, e ms into the current bucket.
local function partOf(old, e, bucket, edge, down)
  if old == 0 or edge == DROP then return 0 end
  if edge == KEEP then return old end
  if down == 1 then return (mulDiv(old, bucket - e, bucket)) end
  return ceilMulDiv(old, bucket - e, bucket)
end

-- The first ms of a bucket at which `old` at the edge leaves `room`; not below the bucket's length if none does.
local function firstFit(old, room, bucket, edge, down)
  if old == 0 or edge == DROP then return 0 end
  if edge == KEEP then return room >= old and 0 or bucket end
  if down == 1 then return bucket - ceilMulDiv(room + 1, bucket, old) + 1 end
  return bucket - (mulDiv(room, bucket, old))
end

local function decide(state, now, cost, limit, bucket, buckets, edge, down, countDenied)
  -- The state brought up to now, in the buckets of this policy.
  local at = now
  local next, before
  if state then
    before = #state / 8 - COUNTS
    next = { struct.unpack(formatFor(before), state) }
    local start = next[1] * next[2]
    if start > at then at = start end
  end
  local e = at % bucket
  local s = (at - e) / bucket
  if before == buckets and next[2] == bucket then
    next = advance(next, buckets, s)
  else
    -- Written in other buckets: what was used stays used, all of it in the current bucket of the new kind.
    local used = 0
    if state then
      local stored = next[2]
      local into = at % stored
      next = advance(next, before, (at - into) / stored)
      used = math.min(limit, next[3] + partOf(next[COUNTS + before], into, stored, edge, down))
    end
    next = { s, bucket, used, 0 }
    for i = 2, buckets do next[COUNTS + i] = 0 end
  end
  local total = next[3]
  local part = partOf(next[COUNTS + buckets], e, bucket, edge, down)

  local fits = cost <= limit - total - part or cost == 0
  local used = total
  local writes = NOTHING
  if cost > 0 and countDenied == 1 and cost <= limit then
    used = total + cost
    if used > MOST then used = MOST end
    writes = ALWAYS
  elseif cost > 0 and fits then
    used = total + cost
    writes = IF_ADMITTED
  end
  next[3] = used

  -- Walks forward, bucket by bucket, to the first instant at which the cost fits.
  local retry = 0
  if not fits then
    retry = NEVER
    local full = used
    for j = 0, cost <= limit and buckets + 1 or -1 do
      local old = 0
      if j < buckets then
        old = next[COUNTS + buckets - j]
      elseif j == buckets then
        old = full
      end
      if j > 0 then full = full - old end
      local room = limit - cost - full
      if room >= 0 then
        local begin = j == 0 and e or 0
        local offset = math.max(begin, firstFit(old, room, bucket, edge, down))
        if offset <= bucket - 1 then
          retry = (s + j) * bucket + offset - at
          break
        end
      end
    end
  end

  -- The wait until the newest bucket that counts counts no more.
  local reset = 0
  local count = current(next, buckets)
  for age = 0, buckets do
    if age > 0 then count = next[COUNTS + age] end
    if count > 0 then
      local offset = firstFit(count, 0, bucket, edge, down)
      reset = (s - age + buckets) * bucket + (offset < bucket and offset or bucket) - at
      if reset < 0 then reset = 0 end
      break
    end
  end

  local left = limit - used - part
  return {
    fits and 1 or 0,
    left > 0 and left or 0,
    retry,
    reset,
    0,
    at,
  }, writes, writes ~= NOTHING and struct.pack(formatFor(buckets), unpack(next, 1, COUNTS + buckets))
end

-- Making a function costs; most calls are no refunds.
if ARGV[1] ~= 'refund' then return decide end

local function refund(state, now, units, at)
  local buckets = #state / 8 - COUNTS
  local next = { struct.unpack(formatFor(buckets), state) }
  local age = next[1] - math.floor(at / next[2])
  if age < 0 or age > buckets then return state end
  local count
  if age == 0 then count = current(next, buckets) else count = next[COUNTS + age] end
  local taken = math.min(units, count)
  if age > 0 then next[COUNTS + age] = next[COUNTS + age] - taken end
  if age < buckets then next[3] = next[3] - taken end
  return struct.pack(formatFor(buckets), unpack(next, 1, COUNTS + buckets))
end

return decide, refund
