-- Blocks: a key that keeps being denied, or that somebody blocks by hand, is denied for a time; see block.ts.
-- numbers: window, after, first, grow (in thousandths), most.
-- state: a table of ends, began, by, strikes, forgets, last, fades. Packed, it stands before the state of the algorithm.

local FORMAT = '<BddBdddd'

local BY_POLICY = 1
local BY_HAND = 2

-- The state of a key, with zeros where nothing is stored.
local function unpacked(stored)
  local state, _ = {}
  _, state.ends, state.began, state.by, state.strikes, state.forgets, state.last, state.fades =
    struct.unpack(FORMAT, stored or string.rep('\0', BLOCK_BYTES))
  return state
end

local function packed(state)
  local strikes, forgets, last, fades = state.strikes, state.forgets, state.last, state.fades
  return struct.pack(FORMAT, BLOCKED, state.ends, state.began, state.by, strikes, forgets, last, fades)
end

-- When the block ends; behind a clock that has stepped back before it began, it takes its own length again and no more.
local function endOf(state, now)
  if state.began > now and state.ends ~= MOST then return now + (state.ends - state.began) end
  return state.ends
end

-- Has a block begin now if the clock has stepped back before it began.
local function rebase(state, now)
  local back = state.began - now
  if back <= 0 then return end
  state.ends = endOf(state, now)
  state.began = now
  if state.fades > 0 then state.fades = state.fades - back end
end

-- So many thousandths of `ms`, rounded up.
local function grown(ms, thousandths)
  local rest = ms % 1000
  return (ms - rest) / 1000 * thousandths + math.ceil(rest * thousandths / 1000)
end

-- Counts a strike, which may begin a block.
local function strike(state, now, window, after, first, grow, most)
  local strikes = now < state.forgets and state.strikes + 1 or 1
  if strikes < after then
    state.strikes, state.forgets = strikes, now + window
    return
  end
  local last = now < state.fades and state.last or 0
  local length = math.min(most, math.max(first, grown(last, grow)))
  state.ends, state.began, state.by = now + length, now, BY_POLICY
  state.strikes, state.forgets = 0, 0
  state.last, state.fades = length, now + length + math.max(length, window)
end

-- Blocks by hand for so many ms, 2^53 - 1 for as long as nobody ends it. A block that ends later goes on.
local function blockFor(state, now, duration)
  rebase(state, now)
  local ends = duration == MOST and MOST or now + duration
  if ends <= state.ends then return end
  state.ends, state.began, state.by = ends, now, BY_HAND
  state.strikes, state.forgets = 0, 0
end

-- The instant from which on none of it means anything.
local function lastsUntil(state)
  return math.max(state.ends, state.forgets, state.fades)
end
