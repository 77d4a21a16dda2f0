-- The entries of a sliding-window log, packed into a string.
--
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
local FORMATS, SIZES = { [NARROW] = '<I4I4', [WIDE] = '<dd' }, { [NARROW] = 8, [WIDE] = 16 }
local FIRST = 8213

local function kindFor(instant, sum)
  return instant < 4294967296 and sum < 4294967296 and NARROW or WIDE
end

-- Opens the log of a key; returns it and whether there is one.
local function open(key)
  local first = redis.call('GETRANGE', key, 0, FIRST - 1)
  local kind = string.byte(first)
  if kind ~= NARROW and kind ~= WIDE then
    return {
      count = 0,
      instant = function() return 0 end,
      sum = function() return 0 end,
      add = function(_, at, cost, ttl)
        local new = kindFor(0, cost)
        local value = struct.pack(HEADER_FORMAT, new, at, 0, 0) .. struct.pack(FORMATS[new], 0, cost)
        redis.call('SET', key, value, 'PX', ttl)
      end,
    }, false
  end

  local _, base, before, head = struct.unpack(HEADER_FORMAT, first)
  local format, size = FORMATS[kind], SIZES[kind]
  local length = #first < FIRST and #first or redis.call('STRLEN', key)
  local log = { count = (length - HEADER) / size - head }

  local function offset(i) return HEADER + (head + i - 1) * size end

  -- The entries from i to j.
  local function bytes(i, j)
    local from, to = offset(i), offset(j + 1) - 1
    if to < from then return '' end
    if to < #first then return string.sub(first, from + 1, to + 1) end
    return redis.call('GETRANGE', key, from, to)
  end

  local function entry(i)
    local from = offset(i)
    if from + size <= #first then return struct.unpack(format, first, from + 1) end
    return struct.unpack(format, bytes(i, i))
  end

  function log.instant(i)
    local instant = entry(i)
    return base + instant
  end

  function log.sum(i)
    if i == 0 and head == 0 then return before end
    local _, sum = entry(i)
    return sum
  end

  -- The header and the entries from i to j with instants and sums that count anew, as kind `new`. To the sums from
  -- entry `raised` on, `more` is added.
  local function renewed(i, j, new, origin, raised, more)
    local start = log.sum(i - 1)
    local parts = { struct.pack(HEADER_FORMAT, new, origin, 0, 0) }
    local kept = bytes(i, j)
    for place = 1, #kept, size do
      local instant, sum = struct.unpack(format, kept, place)
      if i + (place - 1) / size >= raised then sum = sum + more end
      parts[#parts + 1] = struct.pack(FORMATS[new], base + instant - origin, sum - start)
    end
    return table.concat(parts)
  end

  -- The entries from i on and one more, which may be one with the last.
  local function renewedWith(i, merge, at, cost)
    local origin, total = at, 0
    if i <= log.count then origin, total = log.instant(i), log.sum(log.count) - log.sum(i - 1) end
    local new = kindFor(at - origin, total + cost)
    local kept = renewed(i, merge and log.count - 1 or log.count, new, origin, log.count + 1, 0)
    return kept .. struct.pack(FORMATS[new], at - origin, total + cost)
  end

  -- Forgets the first `drop` entries and adds `cost` at `at`, which is not before the last entry.
  function log.add(drop, at, cost, ttl)
    local i, last = drop + 1, log.count
    local merge = i <= last and log.instant(last) == at
    local sum = log.sum(last) + cost
    if i > last or kindFor(at - base, sum) > kind or sum > MOST then
      redis.call('SET', key, renewedWith(i, merge, at, cost), 'PX', ttl)
      return
    end
    if merge then last = last - 1 end
    local added = struct.pack(format, at - base, sum)
    if length == #first or 2 * (head + drop) > head + log.count then
      local header = struct.pack(HEADER_FORMAT, kind, base, log.sum(drop), 0)
      redis.call('SET', key, header .. bytes(i, last) .. added, 'PX', ttl)
      return
    end
    if drop > 0 then
      redis.call('SETRANGE', key, 0, struct.pack(HEADER_FORMAT, kind, base, before, head + drop))
    end
    redis.call('SETRANGE', key, offset(last + 1), added)
    redis.call('PEXPIRE', key, ttl)
  end

  -- Adds units to entry i, and writes the log anew.
  if ARGV[1] == 'settle' then
    function log.raise(i, units)
      local origin, total = log.instant(1), log.sum(log.count) - log.sum(0)
      local more = math.min(units, MOST - total)
      local new = kindFor(log.instant(log.count) - origin, total + more)
      redis.call('SET', key, renewed(1, log.count, new, origin, i, more), 'KEEPTTL')
    end
  end

  -- Takes units from entry i, which holds as many.
  function log.take(i, units)
    local kept = bytes(i, log.count)
    local parts = {}
    for place = 1, #kept, size do
      local instant, sum = struct.unpack(format, kept, place)
      parts[#parts + 1] = struct.pack(format, instant, sum - units)
    end
    redis.call('SETRANGE', key, offset(i), table.concat(parts))
  end

  return log, true
end
