-- The entries of a sliding-window log, packed into a string.
--
-- header: kind (NARROW or WIDE), base (the instant that instants count from), before (the sum before the first entry),
--   head (entries at the front that are forgotten but still there).
-- entry: instant - base, and the running sum up to it. 8 bytes as long as both are below 2^32, else 16.
--
-- A log of up to FIRST bytes is read and written whole. A longer one is read by bisection and written at its ends only,
-- until more than half of it is forgotten; then it is written anew.

local HEADER_FORMAT, HEADER = '<BddI4', 21
local NARROW, WIDE = 1, 2
local FORMATS, SIZES = { '<I4I4', '<dd' }, { 8, 16 }
local FIRST = HEADER + 8192

local function kindFor(instant, sum)
  return instant < 4294967296 and sum < 4294967296 and NARROW or WIDE
end

-- Opens a log. io: first (its first FIRST bytes, '' if there is none), length(), range(from, to), set(value),
-- write(offset, bytes); offsets from 0.
local function openLog(io)
  local first = io.first
  if first == '' then
    return {
      count = 0,
      instant = function() return 0 end,
      sum = function() return 0 end,
      add = function(_, at, cost)
        local kind = kindFor(0, cost)
        io.set(struct.pack(HEADER_FORMAT, kind, at, 0, 0) .. struct.pack(FORMATS[kind], 0, cost))
      end,
    }
  end

  local kind, base, before, head = struct.unpack(HEADER_FORMAT, first)
  local format, size = FORMATS[kind], SIZES[kind]
  local length = #first < FIRST and #first or io.length()
  local log = { count = (length - HEADER) / size - head }

  local function offset(i) return HEADER + (head + i - 1) * size end

  local function bytes(from, to)
    if to < #first then return string.sub(first, from + 1, to + 1) end
    return io.range(from, to)
  end

  local function entry(i)
    local from = offset(i)
    if from + size <= #first then return struct.unpack(format, first, from + 1) end
    return struct.unpack(format, io.range(from, from + size - 1))
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

  -- Writes the entries from i on anew, with sums from 0, and one more.
  local function rewrite(i, at, cost)
    local start, from = log.sum(i - 1), i <= log.count and log.instant(i) or at
    local last = (i <= log.count and log.sum(log.count) or start) - start
    local kept = i <= log.count and bytes(offset(i), length - 1) or ''
    local merge = i <= log.count and log.instant(log.count) == at
    kind = kindFor(at - from, last + cost)
    local parts = { struct.pack(HEADER_FORMAT, kind, from, 0, 0) }
    for place = 1, #kept - (merge and size or 0), size do
      local instant, sum = struct.unpack(format, kept, place)
      parts[#parts + 1] = struct.pack(FORMATS[kind], base + instant - from, sum - start)
    end
    parts[#parts + 1] = struct.pack(FORMATS[kind], at - from, last + cost)
    io.set(table.concat(parts))
  end

  -- Forgets the first `drop` entries and adds `cost` at `at`, which is not before the last entry.
  function log.add(drop, at, cost)
    local sum = log.sum(log.count) + cost
    if drop == log.count or kindFor(at - base, sum) > kind or sum > MOST then
      return rewrite(drop + 1, at, cost)
    end
    local added = struct.pack(format, at - base, sum)
    local place = offset(log.count + (log.instant(log.count) == at and 0 or 1))
    if length == #first or 2 * (head + drop) > head + log.count then
      local header = struct.pack(HEADER_FORMAT, kind, base, log.sum(drop), 0)
      local kept = offset(drop + 1)
      return io.set(header .. (kept < place and bytes(kept, place - 1) or '') .. added)
    end
    if drop > 0 then io.write(0, struct.pack(HEADER_FORMAT, kind, base, before, head + drop)) end
    io.write(place, added)
  end

  -- Takes units from entry i, which holds as many.
  function log.take(i, units)
    local kept = bytes(offset(i), length - 1)
    local parts = {}
    for place = 1, #kept, size do
      local instant, sum = struct.unpack(format, kept, place)
      parts[#parts + 1] = struct.pack(format, instant, sum - units)
    end
    io.write(offset(i), table.concat(parts))
  end

  return log
end
