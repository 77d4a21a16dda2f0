-- One decision over any number of policies: all or nothing, in one step.
--
-- KEYS: one per policy. ARGV: the numbers, packed as MessagePack.
-- The numbers: what to do (CONSUME …; CONSUME_DENIED and PEEK_DENIED of a request that keys on another node deny); the
--   cost, for a block its ms; the caller's now and 1, or 0 for the server's clock; for each key how many
--   numbers follow, the one that stands for its algorithm, and those of its policy; before those for a charge the
--   units, for a refund or settlement the units, and the instant and the level of what was charged; after them, where
--   BLOCKING is added to the algorithm's, the five that a strike takes. A charge is not all or nothing: each key is
--   charged by itself, no more than what remains.
-- Reply of consume, peek and charge: for each key remaining, retry (0: it fits, -1: it never will), reset, at, and the delay in
--   the queue or, where another key denies, the wait that comes of being counted all the same, or the units that a charge
--   took. Of a key that is blocked, remaining is -1 if its policy did that, -2 if somebody did by hand, delay the wait until
--   that ends, and reset -1 if it does not. A lone key leaves out retry where it is 0, and then delay where that is 0.
--   Of a refund or settlement: now, and for each
--   key the units that it was to add and could not keep. All as text, which
--   ends in a full stop: a table is dear to reply, and digits are exact.
--
-- An algorithm is a function of its code and of whether it is to correct, which is in scope there as `corrects`: most calls
-- do not, and making a function costs. It returns `decide`; what a state of it begins with; whether a key mostly ends when it
-- would have ended before the request (ALIGNED), or false; `refund`, if it corrects; and, of the log, `open` and `add`. `settles`
-- is true in a `decide` whose state will be settled, so that it is packed whatever comes of it.
--
-- The only Lua, with log.lua and blocks.lua, that calls Redis. Nothing is written before every number has been checked. Numbers
-- and states are packed, and what one policy needs is kept in locals, because parsing text and making tables and
-- functions were dearer than deciding.

-- How far the TTL that a key has may be from the one that it should have: less than SLACK.
local NEAR = 250

-- The store packs none that is negative or a fraction. No algorithm takes more than seven.
local operation, cost, clock, size, code, a, b, c, d, e, f, g = cmsgpack.unpack(ARGV[1])
if operation == FORGET then return redis.call('DEL', unpack(KEYS)) end

local now = clock - 1
if now < 0 then
  local time = redis.call('TIME')
  local microseconds = time[2] + 0
  now = time[1] * 1000 + (microseconds - microseconds % 1000) / 1000
end

-- A lone policy asked to consume, which is nearly all traffic: what `read`, `judge` and `write` do below, in a straight line.
-- Whatever changes there changes here.
if operation == CONSUME and not KEYS[2] and code < BLOCKING then
  if cost > MOST or clock > MOST or size > MOST or a > MOST or b > MOST
    or c and (c > MOST or d > MOST) or e and (e > MOST or f > MOST or g > MOST) then
    error('sluice: expected whole numbers up to 2^53 - 1')
  end
  local key = KEYS[1]
  local decide, kind, aligned, _, open, add = algorithm(code)
  local state, found, blocks
  if open then
    state, found = open(key)
    blocks = state.origin > 0
  else
    state = redis.call('GET', key)
    if state and string.byte(state) ~= kind then
      -- What another algorithm left says nothing to this one.
      blocks, state = string.byte(state) == BLOCKED, false
    end
    found = state
  end
  -- What a block may have to do with goes on below.
  if not blocks then
    local remaining, retry, reset, at, delay, writes, next = decide(state, now, cost, false, a, b, c, d, e, f, g)
    local ttl = reset + SLACK
    if clock > 0 and ttl < LEAST_TTL_UNDER_OTHER_CLOCKS then ttl = LEAST_TTL_UNDER_OTHER_CLOCKS end
    if writes == NOTHING then
      if found and redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, ttl) end
    elseif add then
      add(state, next, at, cost, ttl)
    else
      local has = aligned and found and clock == 0 and redis.call('PTTL', key)
      if has and has > ttl - NEAR and has < ttl + NEAR then
        redis.call('SET', key, next, 'KEEPTTL')
      else
        redis.call('SET', key, next, 'PX', ttl)
      end
    end
    if retry == 0 and delay == 0 then return string.format('%d %d %d.', remaining, reset, at) end
    if retry == 0 then return string.format('%d %d %d %d.', remaining, reset, at, delay) end
    return string.format('%d %d %d %d %d.', remaining, retry, reset, at, delay)
  end
end

local numbers = { cmsgpack.unpack(ARGV[1]) }
if math.max(unpack(numbers)) > MOST then error('sluice: expected whole numbers up to 2^53 - 1') end
local corrects = operation == REFUND or operation == SETTLE

-- The log is read and written in parts, every other state as a whole. Returns the state, whether there is one, and that of
-- a block where one stands before it.
local function read(key, open, kind)
  if open then
    local log, found = open(key)
    return log, found, log.origin > 0 and log.prefix
  end
  local state, prefix = redis.call('GET', key), false
  if state and string.byte(state) == BLOCKED then
    prefix, state = string.sub(state, 1, BLOCK_BYTES), string.sub(state, BLOCK_BYTES + 1)
  end
  -- What another algorithm left says nothing to this one.
  if state and string.byte(state) ~= kind then state = false end
  return state, state, prefix
end

-- Stores what is to be written of a key. How long it lives is only garbage collection: what is stale counts as absent.
local function write(key, add, aligned, state, found, writes, next, reset, at, units)
  local ttl = reset + SLACK
  if clock > 0 and ttl < LEAST_TTL_UNDER_OTHER_CLOCKS then ttl = LEAST_TTL_UNDER_OTHER_CLOCKS end
  if writes ~= NOTHING and add then
    add(state, next, at, units, ttl)
  elseif writes ~= NOTHING then
    local has = aligned and found and clock == 0 and redis.call('PTTL', key)
    if has and has > ttl - NEAR and has < ttl + NEAR then
      redis.call('SET', key, next, 'KEEPTTL')
    else
      redis.call('SET', key, next, 'PX', ttl)
    end
  elseif found and (corrects or operation == CONSUME and redis.call('PTTL', key) == -1) then
    -- A refund may take the last entry of a log; and a key that has lost its TTL would live for ever.
    redis.call('PEXPIRE', key, ttl)
  end
end

if corrects then
  local corrected = { string.format('%d', now) }
  -- Takes what a refund gives back from the keys from i on, or adds what a settlement was not charged yet.
  local function correct(i, position)
    local key = KEYS[i]
    if not key then return end
    local units, from, to = numbers[position + 2], position + 3, position + numbers[position]
    local decide, kind, aligned, refund, open, add = algorithm(numbers[position + 1], true)
    local state, found, prefix = read(key, open, kind)
    -- All are read before any is written: what fails then has changed nothing.
    correct(i + 1, to + 1)

    local lacking, remaining, retry, reset, at, delay, writes, next = 0
    if units > 0 and operation == REFUND and found then
      next = refund(state, now, units, unpack(numbers, from, to))
      if open then next = open(key) end
      remaining, retry, reset, at = decide(next, now, 0, false, unpack(numbers, from + 2, to))
      writes = reset > 0 and not open and ALWAYS or NOTHING
      if reset == 0 and not prefix then redis.call('DEL', key) end
    elseif units > 0 and operation == SETTLE then
      -- Beyond the limit too.
      remaining, retry, reset, at, delay, writes, next = decide(state, now, 0, true, unpack(numbers, from + 2, to))
      local settled, less = refund(open and state or next, now, -units, unpack(numbers, from, to))
      lacking = less or 0
      if not open then
        next = settled
        remaining, retry, reset, at = decide(settled, now, 0, false, unpack(numbers, from + 2, to))
        if reset > 0 then writes = ALWAYS end
      elseif settled then
        remaining, retry, reset, at = decide(open(key), now, 0, false, unpack(numbers, from + 2, to))
      elseif numbers[from] > at - numbers[to] then
        -- Nothing was charged at first, so there is no entry of it.
        writes, reset = ALWAYS, numbers[to]
      end
    end
    corrected[1 + i] = string.format('%d', math.max(0, lacking))
    if reset and prefix then
      local _, _, writeBehind = algorithm(BLOCKS, true, now, clock, operation, numbers)
      writeBehind(prefix, key, open, add, state, writes, next, reset, at, units)
    elseif reset then
      write(key, add, aligned, state, found, writes, next, reset, at, units)
    end
  end

  correct(1, 4)
  return table.concat(corrected, ' ') .. '.'
end

if operation == BLOCK or operation == UNBLOCK then
  -- Blocks the keys from i on, or ends their blocks.
  local function set(i, position)
    local key = KEYS[i]
    if not key then return end
    local to = position + numbers[position]
    local decide, kind, _, _, open = algorithm(numbers[position + 1])
    local state, found, prefix = read(key, open, kind)
    local _, _, reset = decide(state, now, 0, false, unpack(numbers, position + 2, to))
    -- All are read before any is written: what fails then has changed nothing.
    set(i + 1, to + 1)

    local _, put, _, _, blockedFor = algorithm(BLOCKS, false, now, clock, operation, numbers)
    if operation == BLOCK then
      put(key, open, state, found, blockedFor(prefix, cost), reset)
    elseif prefix then
      put(key, open, state, found, false, reset)
    end
  end

  set(1, 4)
  return '.'
end

-- Judges the keys from i on, given whether those before admit, and whether one of them is blocked; returns whether all do,
-- and one is, and adds what it replies.
local reply = {}
local function judge(i, position, admitted, blocked)
  local key = KEYS[i]
  if not key then return admitted, blocked end
  local units, code, from, to, strikes = cost, numbers[position + 1], position + 2, position + numbers[position]
  local onwards = to + 1
  if code >= BLOCKING then code, strikes, to = code - BLOCKING, to - 4, to - 5 end
  local decide, kind, aligned, _, open, add = algorithm(code)
  local state, found, prefix = read(key, open, kind)
  if prefix and operation ~= CHARGE then
    local _, _, _, isBlocked = algorithm(BLOCKS, false, now, clock, operation, numbers)
    blocked = blocked or isBlocked(prefix)
  end

  local remaining, retry, reset, at, delay, writes, next
  if operation == CHARGE then
    remaining = decide(state, now, 0, false, unpack(numbers, from + 1, to))
    units = math.min(numbers[from], remaining)
    remaining, retry, reset, at, delay, writes, next = decide(state, now, units, false, unpack(numbers, from + 1, to))
    delay = units
    admitted = judge(i + 1, onwards, admitted, blocked)
  else
    remaining, retry, reset, at, delay, writes, next = decide(state, now, units, false, unpack(numbers, from, to))
    admitted, blocked = judge(i + 1, onwards, admitted and retry == 0, blocked)
    if writes == ALWAYS and not admitted and retry == 0 then
      -- Another policy denies, but here the request counts, and the wait is worked out after that.
      local once = { unpack(numbers, from, to) }
      -- Its last number is countDenied.
      once[#once] = 0
      local _, after = decide(next, now, units, false, unpack(once))
      delay = after
    elseif not admitted then
      delay = 0
    end
    if operation == PEEK or operation == PEEK_DENIED or writes == IF_ADMITTED and not admitted then
      -- What the request is told of its own chances, and the rest as it stands without it.
      local _
      remaining, _, reset, at = decide(state, now, 0, false, unpack(numbers, from, to))
      writes = NOTHING
    end
  end
  if blocked or strikes and retry > 0 then
    local judgeBlock = algorithm(BLOCKS, false, now, clock, operation, numbers)
    remaining, retry, reset, at, delay = judgeBlock(blocked, key, open, decide, aligned, state, found, prefix, units, from,
      to, strikes, writes, next, remaining, retry, reset, at, delay)
  elseif prefix then
    local _, _, writeBehind = algorithm(BLOCKS, false, now, clock, operation, numbers)
    writeBehind(prefix, key, open, add, state, writes, next, reset, at, units)
  else
    write(key, add, aligned, state, found, writes, next, reset, at, units)
  end
  reply[i] = string.format('%d %d %d %d %d', remaining, retry, reset, at, delay)
  return admitted, blocked
end

judge(1, 4, operation ~= CONSUME_DENIED and operation ~= PEEK_DENIED, false)
return table.concat(reply, ' ') .. '.'
