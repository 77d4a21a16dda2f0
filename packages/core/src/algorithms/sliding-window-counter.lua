-- Sliding-window counter: the window cut into buckets, the oldest of which counts in part;
-- see sliding-window-counter.ts for the formula.
-- numbers: limit, bucket (ms), buckets, edge (0 weighted, 1 drop, 2 keep), down, countDenied.
-- state: s, bucket (ms), total, then the counts of the buckets s - 1 … s - buckets.

local DROP, KEEP = 1, 2

-- Where the count of bucket s - i stands in a state: at COUNTS + i.
local COUNTS = 3

-- The current bucket's own count.
local function current(state, buckets)
  local count = state[3]
  for i = 1, buckets - 1 do count = count - state[COUNTS + i] end
  return count
end

-- The state with bucket s as its current one.
local function advance(state, buckets, s)
  local steps = s - state[1]
  if steps == 0 then return { unpack(state) } end
  local total = 0
  local moved = { s, state[2] }
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
local function partOf(numbers, old, e)
  local bucket = numbers[2]
  if old == 0 or numbers[4] == DROP then return 0 end
  if numbers[4] == KEEP then return old end
  if numbers[5] == 1 then return (mulDiv(old, bucket - e, bucket)) end
  return ceilMulDiv(old, bucket - e, bucket)
end

-- The first ms of a bucket at which `old` at the edge leaves `room`; not below the bucket's length if none does.
local function firstFit(numbers, old, room)
  local bucket = numbers[2]
  if old == 0 or numbers[4] == DROP then return 0 end
  if numbers[4] == KEEP then return room >= old and 0 or bucket end
  if numbers[5] == 1 then return bucket - ceilMulDiv(room + 1, bucket, old) + 1 end
  return bucket - (mulDiv(room, bucket, old))
end

-- The state brought up to now, in the buckets of this policy, and the instant that stands for now.
local function load(numbers, state, now)
  local bucket, buckets = numbers[2], numbers[3]
  local stored = state[2] or 0
  local at = now
  if stored > 0 and state[1] * stored > at then at = state[1] * stored end
  if stored == bucket and #state == COUNTS + buckets then
    return advance(state, buckets, math.floor(at / bucket)), at
  end
  -- Written in other buckets: what was used stays used, all of it in the current bucket of the new kind.
  local used = 0
  if stored > 0 then
    local before = #state - COUNTS
    local s = math.floor(at / stored)
    local moved = advance(state, before, s)
    local old = { 0, stored, before, numbers[4], numbers[5] }
    used = math.min(numbers[1], moved[3] + partOf(old, moved[COUNTS + before], at - s * stored))
  end
  local fresh = { math.floor(at / bucket), bucket, used }
  for i = 1, buckets do fresh[COUNTS + i] = 0 end
  return fresh, at
end

-- Walks forward, bucket by bucket, to the first instant at which `cost` fits.
local function wait(numbers, state, at, cost)
  local bucket, buckets = numbers[2], numbers[3]
  local s, full = state[1], state[3]
  for j = 0, buckets + 1 do
    local old = 0
    if j < buckets then
      old = state[COUNTS + buckets - j]
    elseif j == buckets then
      old = full
    end
    if j > 0 then full = full - old end
    local room = numbers[1] - cost - full
    if room >= 0 then
      local begin = j == 0 and at - s * bucket or 0
      local offset = math.max(begin, firstFit(numbers, old, room))
      if offset <= bucket - 1 then return (s + j) * bucket + offset - at end
    end
  end
  return NEVER
end

-- The wait until the newest bucket that counts, `age` buckets old, counts no more.
local function resetAfter(numbers, state, at, age, count)
  local bucket = numbers[2]
  local toEdge = (state[1] - age + numbers[3]) * bucket
  local offset = firstFit(numbers, count, 0)
  return math.max(0, toEdge + math.min(offset, bucket) - at)
end

-- The wait until nothing counts any more.
local function untilNew(numbers, state, at)
  local buckets = numbers[3]
  local count = current(state, buckets)
  for age = 0, buckets do
    if age > 0 then count = state[COUNTS + age] end
    if count > 0 then return resetAfter(numbers, state, at, age, count) end
  end
  return 0
end

local function decide(numbers, state, now, cost)
  local limit, bucket, buckets, countDenied = numbers[1], numbers[2], numbers[3], numbers[6]

  local next, at = load(numbers, state, now)
  local s = next[1]
  local e = at - s * bucket
  local total = next[3]
  local part = partOf(numbers, next[COUNTS + buckets], e)

  local fits = cost <= limit - total - part or cost == 0
  local used = total
  local writes = NOTHING
  if cost > 0 and countDenied == 1 and cost <= limit then
    used = math.min(total + cost, MOST)
    writes = ALWAYS
  elseif cost > 0 and fits then
    used = total + cost
    writes = IF_ADMITTED
  end
  next[3] = used

  return {
    fits and 1 or 0,
    math.max(0, limit - used - part),
    fits and 0 or cost > limit and NEVER or wait(numbers, next, at, cost),
    untilNew(numbers, next, at),
    0,
    at,
  }, writes, next
end

local function refund(numbers, state, now, units, charge)
  local buckets = #state - COUNTS
  local age = state[1] - math.floor(charge.at / state[2])
  if age < 0 or age > buckets then return state end
  local count
  if age == 0 then count = current(state, buckets) else count = state[COUNTS + age] end
  local taken = math.min(units, count)
  if age > 0 then state[COUNTS + age] = state[COUNTS + age] - taken end
  if age < buckets then state[3] = state[3] - taken end
  return state
end

return decide, refund
