-- Sliding-window counter: the window cut into buckets, the oldest of which counts in part;
-- see sliding-window-counter.ts for the formula.
-- numbers: limit, bucket (ms), buckets, edge (0 weighted, 1 drop, 2 keep), down, own (the policy's own limit),
--   countDenied.
-- state: s, bucket (ms), total, the edge's count, then the counts of the buckets s - 1 … s - buckets + 1, called the
--   ring. Within one bucket only the first four change, so the ring stays packed until it advances.

-- What a state of this algorithm begins with: of another kind, it counts as absent.
local KIND = 2

local DROP = 1
local KEEP = 2

-- Bytes of the kind and the four numbers in front of the ring.
local FRONT = 33

-- What of the edge's count counts, e ms into the current bucket.
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

-- What most decisions do without. Making a function costs, so these are made when one of them is needed.
local function rare()
  -- The counts of a ring by age, from 1, and the current bucket's own count, which is what the total holds beyond them.
  local function countsOf(ring, total)
    local counts = { struct.unpack('<' .. string.rep('d', #ring / 8), ring) }
    counts[#counts] = nil
    local current = total
    for age = 1, #counts do current = current - counts[age] end
    return counts, current
  end

  -- Total, edge and ring with the current bucket `steps` buckets on.
  local function advance(steps, total, ring)
    local buckets = #ring / 8 + 1
    if steps > buckets then return 0, 0, string.rep('\0', #ring) end
    if buckets == 1 then return 0, total, ring end
    local counts, current = countsOf(ring, total)
    counts[0] = current
    local moved, sum = {}, 0
    for age = 1, buckets - 1 do
      moved[age] = counts[age - steps] or 0
      sum = sum + moved[age]
    end
    return sum, counts[buckets - steps], struct.pack('<' .. string.rep('d', buckets - 1), unpack(moved))
  end

  -- Written in other buckets: what was used stays used, all of it in the current bucket of the new kind; at most what
  -- the policy holds, whatever this request's limit is, because it is stored for all.
  local function carry(at, stored, total, old, ring, own, bucket, edge, down)
    local into = at % bucket
    local steps = (at - into) / bucket - stored
    if steps > 0 then total, old = advance(steps, total, ring) end
    return math.min(own, total + partOf(old, into, bucket, edge, down))
  end

  -- Walks forward, bucket by bucket, to the first instant at which `cost` fits.
  local function wait(at, s, e, total, old, ring, cost, limit, bucket, buckets, edge, down)
    local counts = countsOf(ring, total)
    local full = total
    counts[buckets] = old
    for j = 0, buckets + 1 do
      local leaves = 0
      if j < buckets then
        leaves = counts[buckets - j]
      elseif j == buckets then
        leaves = full
      end
      if j > 0 then full = full - leaves end
      local room = limit - cost - full
      if room >= 0 then
        local begin = j == 0 and e or 0
        local offset = math.max(begin, firstFit(leaves, room, bucket, edge, down))
        if offset <= bucket - 1 then return (s + j) * bucket + offset - at end
      end
    end
    return NEVER
  end

  -- The wait until nothing counts any more: until the newest bucket that counts, `age` buckets old, does not.
  local function untilNew(at, s, total, old, ring, bucket, buckets, edge, down)
    local age, count = 0, total
    if buckets > 1 then
      local counts, current = countsOf(ring, total)
      count = current
      while count == 0 and age < buckets - 1 do
        age = age + 1
        count = counts[age]
      end
    end
    if count == 0 then age, count = buckets, old end
    if count == 0 then return 0 end
    local offset = firstFit(count, 0, bucket, edge, down)
    local reset = (s - age + buckets) * bucket + (offset < bucket and offset or bucket) - at
    return reset > 0 and reset or 0
  end

  return advance, carry, wait, untilNew, countsOf
end

local function decide(state, now, cost, limit, bucket, buckets, edge, down, own, countDenied)
  -- The state brought up to now, in the buckets of this policy.
  local stored, storedBucket, total, old, ring = 0, 0, 0, 0, ''
  local at = now
  if state then
    stored, storedBucket, total, old = struct.unpack('<dddd', state, 2)
    if #state > FRONT then ring = string.sub(state, FRONT + 1) end
    if stored * storedBucket > at then at = stored * storedBucket end
  end
  local e = at % bucket
  local s = (at - e) / bucket
  local changed = state and (storedBucket ~= bucket or #ring ~= 8 * (buckets - 1))
  if changed then
    local _, carry = rare()
    total = carry(at, stored, total, old, ring, own, storedBucket, edge, down)
  elseif state and s > stored then
    local advance = rare()
    total, old, ring = advance(s - stored, total, ring)
  end
  if changed or not state then old, ring = 0, string.rep('\0', 8 * (buckets - 1)) end
  local part = old == 0 and 0 or partOf(old, e, bucket, edge, down)

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
  elseif changed and cost > 0 and cost <= limit then
    -- Or else each later request would find it all in its own bucket again, and wait for ever.
    writes = ALWAYS
  end

  local retry = 0
  if not fits and cost > limit then
    retry = NEVER
  elseif not fits then
    local _, _, wait = rare()
    retry = wait(at, s, e, used, old, ring, cost, limit, bucket, buckets, edge, down)
  end
  local reset
  if used > total and down == 0 then
    -- The current bucket counts, and so it is the newest.
    reset = (s + buckets + (edge == DROP and 0 or 1)) * bucket - at
  else
    local _, _, _, untilNew = rare()
    reset = untilNew(at, s, used, old, ring, bucket, buckets, edge, down)
  end
  local left = limit - used - part

  return {
    left > 0 and left or 0,
    retry,
    reset,
    at,
    0,
  }, writes, writes ~= NOTHING and struct.pack('<Bdddd', KIND, s, bucket, used, old) .. ring
end

-- Making a function costs; most calls are no refunds.
if ARGV[1] ~= 'refund' then return decide, nil, nil, KIND end

local function refund(state, now, units, at)
  local s, bucket, total, old = struct.unpack('<dddd', state, 2)
  local _, _, _, _, countsOf = rare()
  local counts, current = countsOf(string.sub(state, FRONT + 1), total)
  local buckets = #counts + 1
  local age = s - math.floor(at / bucket)
  if age < 0 or age > buckets then return state end
  if age == buckets then
    old = old - math.min(units, old)
  else
    local taken = math.min(units, age == 0 and current or counts[age])
    total = total - taken
    if age > 0 then counts[age] = counts[age] - taken end
  end
  return struct.pack('<Bdddd' .. string.rep('d', #counts), KIND, s, bucket, total, old, unpack(counts))
end

return decide, refund, nil, KIND
