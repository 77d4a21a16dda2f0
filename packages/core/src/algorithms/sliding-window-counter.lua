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

-- What looks into the ring, or ahead. Making a function costs, so these are made where one of them is needed.
local function ofRings()
  -- Walks forward, bucket by bucket, to the first instant at which `cost` fits. `counts`: of the ring, by age.
  local function wait(at, s, total, old, counts, cost, limit, bucket, buckets, edge, down)
    local begin, leaves, full = at - s * bucket, old, total
    for j = 0, buckets + 1 do
      if j > 0 then
        begin = 0
        leaves = j < buckets and counts[buckets - j] or full
        full = full - leaves
      end
      local room = limit - cost - full
      -- The first ms of this bucket at which what is at the edge leaves that room; none if not below the bucket's length.
      local offset = begin
      if room < 0 or leaves > room and edge == KEEP then
        offset = bucket
      elseif leaves > room and edge ~= DROP then
        local fit = down == 1 and mulDiv(room + 1, bucket, leaves, UP) - 1 or mulDiv(room, bucket, leaves)
        if bucket - fit > begin then offset = bucket - fit end
      end
      if offset < bucket then return (s + j) * bucket + offset - at end
    end
    return NEVER
  end

  -- The counts of a ring by age, from 1, and under 0 the current bucket's own, which is what the total holds beyond them.
  local function countsOf(ring, total)
    local counts = { struct.unpack('<' .. string.rep('d', #ring / 8), ring) }
    counts[#counts] = nil
    counts[0] = total
    for age = 1, #counts do counts[0] = counts[0] - counts[age] end
    return counts
  end

  -- Total, edge and ring with the current bucket `steps` buckets on.
  local function advance(steps, total, ring)
    local buckets = #ring / 8 + 1
    if steps > buckets then return 0, 0, string.rep('\0', #ring) end
    local counts = countsOf(ring, total)
    local moved, sum = {}, 0
    for age = 1, buckets - 1 do
      moved[age] = counts[age - steps] or 0
      sum = sum + moved[age]
    end
    return sum, counts[buckets - steps], struct.pack('<' .. string.rep('d', buckets - 1), unpack(moved))
  end

  return countsOf, advance, wait
end

local function decide(state, now, cost, settles, limit, bucket, buckets, edge, down, own, countDenied)
  -- The state brought up to now, in the buckets of this policy.
  local at, total, old, part, ring, changed = now, 0, 0, 0, '', not state
  if state then
    local stored, storedBucket
    stored, storedBucket, total, old = struct.unpack('<dddd', state, 2)
    if #state > FRONT then ring = string.sub(state, FRONT + 1) end
    if stored * storedBucket > at then at = stored * storedBucket end
    local into = at % storedBucket
    local steps = (at - into) / storedBucket - stored
    if steps > 0 and ring == '' then
      total, old = 0, steps == 1 and total or 0
    elseif steps > 0 then
      local _, advance = ofRings()
      total, old, ring = advance(steps, total, ring)
    end
    -- What of the edge's count counts.
    if old > 0 and edge == KEEP then
      part = old
    elseif old > 0 and edge ~= DROP then
      part = mulDiv(old, storedBucket - into, storedBucket, down == 0)
    end
    changed = storedBucket ~= bucket or #ring ~= 8 * (buckets - 1)
    -- Written in other buckets: what was used stays used, all of it in the current bucket of the new kind; at most what
    -- the policy holds, whatever this request's limit is, because it is stored for all.
    if changed then total = math.min(own, total + part) end
  end
  if changed then old, part, ring = 0, 0, string.rep('\0', 8 * (buckets - 1)) end
  local s = (at - at % bucket) / bucket

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
  elseif state and changed and cost > 0 and cost <= limit then
    -- Or else each later request would find it all in its own bucket again, and wait for ever.
    writes = ALWAYS
  end

  local retry = fits and 0 or NEVER
  -- If the current bucket counts, it is the newest.
  local reset = (s + buckets + (edge == DROP and 0 or 1)) * bucket - at
  if not fits or used == total or down == 1 then
    local countsOf, _, wait = ofRings()
    local counts = buckets > 1 and countsOf(ring, used)
    if not fits and cost <= limit then
      retry = wait(at, s, used, old, counts, cost, limit, bucket, buckets, edge, down)
    end
    -- As new is a key that the whole limit fits.
    reset = wait(at, s, used, old, counts, limit, limit, bucket, buckets, edge, down)
  end
  local left = limit - used - part

  return left > 0 and left or 0,
    retry,
    reset,
    at,
    0,
    writes,
    (writes ~= NOTHING or settles) and struct.pack('<Bdddd', KIND, s, bucket, used, old) .. ring
end

if not corrects then return decide, KIND, ALIGNED end

local function refund(state, now, units, at)
  local s, bucket, total, old = struct.unpack('<dddd', state, 2)
  local counts = ofRings()(string.sub(state, FRONT + 1), total)
  local buckets = #counts + 1
  local age = s - math.floor(at / bucket)
  if age < 0 or age > buckets then return state end
  if age == buckets then
    old = old - math.max(math.min(units, old), math.max(old, total) - MOST)
  else
    local taken = math.max(math.min(units, counts[age]), math.max(counts[age], total) - MOST)
    counts[age] = counts[age] - taken
    total = total - taken
  end
  return struct.pack('<Bdddd' .. string.rep('d', #counts), KIND, s, bucket, total, old, unpack(counts))
end

return decide, KIND, ALIGNED, refund
