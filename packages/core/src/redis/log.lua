-- The entries of a sliding-window log, packed into a string.
--
-- Before the header may stand the state of a block (block.lua): `origin` bytes of it, which are `prefix` when all is
--   written anew.
-- header: kind (NARROW or WIDE; of another kind, the state counts as absent), base (the instant that instants count from), before (the sum before the first entry),
--   head (entries at the front that are forgotten but still there).
-- entry: instant - base, and the running sum up to it. 8 bytes as long as both are below 2^32, else 16.
--
-- A log of up to FIRST bytes (a header and 8 KB) is read and written whole. A longer one is read by bisection and written at its ends only,
-- until more than half of it is forgotten; then it is written anew.

local HEADER = 21
local HEADER_FORMAT = '<BddI4'
local NARROW = 5
local WIDE = 6
local NARROW_FORMAT = '<I4I4'
local WIDE_FORMAT = '<dd'
local NARROW_SIZE = 8
local WIDE_SIZE = 16
local FIRST = 8213

-- The instant of entry i and the sum up to it; of entry 0 only the sum is known.
local function entry(log, i)
  local first, size, place = log.first, log.size, log.head + i - 1
  if place < 0 then return 0, log.before end
  local from = HEADER + place * size
  if from + size > #first then
    from = log.origin + from
    first, from = redis.call('GETRANGE', log.key, from, from + size - 1), 0
  end
  local instant, sum = struct.unpack(log.format, first, from + 1)
  return log.base + instant, sum
end

-- Opens the log of a key; returns it and whether there is one. `first` is as much of it as is at hand; `newest` and `sum`
-- are what the last entry says.
local function open(key)
  local first = redis.call('GETRANGE', key, 0, FIRST - 1)
  local kind, prefix, more = string.byte(first), '', #first == FIRST
  if kind == BLOCKED then
    prefix, first = string.sub(first, 1, BLOCK_BYTES), string.sub(first, BLOCK_BYTES + 1)
    kind = string.byte(first)
  end
  local origin = #prefix
  if kind ~= NARROW and kind ~= WIDE then
    return { key = key, prefix = prefix, origin = origin, count = 0, head = 0, before = 0, newest = 0, sum = 0 }, false
  end
  local _, base, before, head = struct.unpack(HEADER_FORMAT, first)
  local length = more and redis.call('STRLEN', key) - origin or #first
  local size = kind == NARROW and NARROW_SIZE or WIDE_SIZE
  local log = {
    key = key,
    prefix = prefix,
    origin = origin,
    first = first,
    length = length,
    kind = kind,
    size = size,
    format = kind == NARROW and NARROW_FORMAT or WIDE_FORMAT,
    base = base,
    before = before,
    head = head,
    count = (length - HEADER) / size - head,
    newest = 0,
    sum = 0,
  }
  log.newest, log.sum = entry(log, log.count)
  return log, true
end

-- What most requests do without. Making a function costs, so these are made where one of them is needed.
local function ofEntries(log)
  -- The entries from i to j.
  local function bytes(i, j)
    local from, to = HEADER + (log.head + i - 1) * log.size, HEADER + (log.head + j) * log.size - 1
    if to < from then return '' end
    if to < #log.first then return string.sub(log.first, from + 1, to + 1) end
    return redis.call('GETRANGE', log.key, log.origin + from, log.origin + to)
  end

  -- The header and the entries from i to j with instants and sums that count anew from `origin` and `start`, and what
  -- packs an entry so. By that count, `span` and `total` are the last. To the sums from entry `raised` on, `more` is added.
  local function renewed(i, j, origin, start, span, total, raised, more)
    local narrow = span < 4294967296 and total < 4294967296
    local format = narrow and NARROW_FORMAT or WIDE_FORMAT
    local parts = { struct.pack(HEADER_FORMAT, narrow and NARROW or WIDE, origin, 0, 0) }
    local kept = j >= i and bytes(i, j) or ''
    for place = 1, #kept, log.size do
      local instant, upTo = struct.unpack(log.format, kept, place)
      upTo = upTo - start
      if i + (place - 1) / log.size >= raised then upTo = upTo + more end
      parts[#parts + 1] = struct.pack(format, log.base + instant - origin, upTo)
    end
    return table.concat(parts), format
  end

  -- Adds units to entry i, and writes the log anew.
  local function raise(i, units)
    local origin = entry(log, 1)
    local _, start = entry(log, 0)
    local total = log.sum - start
    local more = math.min(units, MOST - total)
    local value = renewed(1, log.count, origin, start, log.newest - origin, total + more, i, more)
    redis.call('SET', log.key, log.prefix .. value, 'KEEPTTL')
  end

  -- Takes units from entry i, which holds as many.
  local function take(i, units)
    local kept = bytes(i, log.count)
    local parts = {}
    for place = 1, #kept, log.size do
      local instant, sum = struct.unpack(log.format, kept, place)
      parts[#parts + 1] = struct.pack(log.format, instant, sum - units)
    end
    local from = log.origin + HEADER + (log.head + i - 1) * log.size
    redis.call('SETRANGE', log.key, from, table.concat(parts))
  end

  return bytes, renewed, raise, take
end

-- Forgets the first `drop` entries and adds `cost` at `at`, which is not before the last entry.
local function add(log, drop, at, cost, ttl)
  local key, prefix, head, last, size, sum = log.key, log.prefix, log.head, log.count, log.size, log.sum + cost
  if drop == last then
    local narrow = cost < 4294967296
    local header = struct.pack(HEADER_FORMAT, narrow and NARROW or WIDE, at, 0, 0)
    local added = struct.pack(narrow and NARROW_FORMAT or WIDE_FORMAT, 0, cost)
    redis.call('SET', key, prefix .. header .. added, 'PX', ttl)
    return
  end
  -- What comes at the instant of the last entry becomes one with it.
  if log.newest == at then last = last - 1 end
  if log.kind == NARROW and (at - log.base >= 4294967296 or sum >= 4294967296) or sum > MOST then
    local _, renewed = ofEntries(log)
    local origin = entry(log, drop + 1)
    local _, start = entry(log, drop)
    -- Entries that have left are not in the sums that count.
    local span, total = at - origin, log.sum - start + cost
    local kept, format = renewed(drop + 1, last, origin, start, span, total, last + 1, 0)
    redis.call('SET', key, prefix .. kept .. struct.pack(format, span, total), 'PX', ttl)
    return
  end
  local added = struct.pack(log.format, at - log.base, sum)
  if head + drop == 0 and log.length == #log.first then
    local kept = last == log.count and log.first or string.sub(log.first, 1, -1 - size)
    redis.call('SET', key, prefix .. kept .. added, 'PX', ttl)
  elseif log.length == #log.first or 2 * (head + drop) > head + log.count then
    local bytes = ofEntries(log)
    local _, before = entry(log, drop)
    local header = struct.pack(HEADER_FORMAT, log.kind, log.base, before, 0)
    redis.call('SET', key, prefix .. header .. bytes(drop + 1, last) .. added, 'PX', ttl)
  else
    if drop > 0 then
      local header = struct.pack(HEADER_FORMAT, log.kind, log.base, log.before, head + drop)
      redis.call('SETRANGE', key, log.origin, header)
    end
    redis.call('SETRANGE', key, log.origin + HEADER + (head + last) * size, added)
    redis.call('PEXPIRE', key, ttl)
  end
end
