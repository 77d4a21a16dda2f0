-- One decision over any number of policies: all or nothing, in one step.
--
-- KEYS: one per policy. ARGV: the numbers, packed as MessagePack.
-- The numbers: what to do (CONSUME …; CONSUME_DENIED and PEEK_DENIED of a request that keys on another node deny); the
--   cost, for a block its ms; the caller's now and 1, or 0 for the server's clock; for each key how many
--   numbers follow, the one that stands for its algorithm, and those of its policy; before those for a charge the
--   units, for a refund or settlement the units, and the instant and the level of what was charged; after them, where
--   BLOCKING is added to the algorithm's, the five that a strike takes. A charge is not all or nothing: each key is
--   charged by itself, no more than what remains. Last of all, for a reservation, the most ms that it may wait.
-- Reply of consume, peek, charge and reserve: for each key remaining, retry (0: it fits, -1: it never will), reset, at, and
--   the delay in the queue or, where another key denies, the wait that comes of being counted all the same, or the units
--   that a charge took, or the whole wait of a reservation. Of a key that is blocked, remaining is -1 if its policy did that,
--   -2 if somebody did by hand, delay the wait until that ends, and reset -1 if it does not. Where retry is 0 it may be
--   left out, and then delay where that is 0; a comma stands between two keys. Of a refund or settlement: now, and for each
--   key the units that it was to add and could not keep. All as text, which
--   ends in a full stop: a table is dear to reply, and digits are exact.
--
-- An algorithm is a function of its code and of whether it is to correct, which is in scope there as `corrects`: most calls
-- do not, and making a function costs. It returns `decide`; what a state of it begins with; whether a key mostly ends when it
-- would have ended before the request (ALIGNED), or false; `refund`, if it corrects; of the log, `open` and `add`; and, if it
-- corrects, `recede` of those whose states tell what was before. `settles` is true in a `decide` whose state will be settled,
-- so that it is packed whatever comes of it.
--
-- A state that is charged by reservations stands ahead of now, and says so: its kind plus AHEAD, the instant that it stands
-- at, and then the state (of a log, whose newest entry is at that instant, only the kind). Nobody passes before. From that
-- instant on it is a state as any other, and what is written next says nothing of it any more.
--
-- The only Lua, with log.lua and blocks.lua, that calls Redis. Nothing is written before every number has been checked. Numbers
-- and states are packed, and what one policy needs is kept in locals, because parsing text and making tables and
-- functions were dearer than deciding.

-- How far the TTL that a key has may be from the one that it should have: less than SLACK.
local NEAR = 250
-- Bytes in front of a state that stands ahead of now.
local MARK = 9

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
-- Whatever changes there changes here. It is left where there are reservations or blocks, which only those heed.
while operation == CONSUME and not KEYS[2] and code < BLOCKING do
  if cost > MOST or clock > MOST or size > MOST or a > MOST or b > MOST
    or c and (c > MOST or d > MOST) or e and (e > MOST or f > MOST or g > MOST) then
    error('sluice: expected whole numbers up to 2^53 - 1')
  end
  local key = KEYS[1]
  local decide, kind, aligned, _, open, add = algorithm(code)
  local state, found
  if open then
    state, found = open(key)
    if state.ahead or state.origin > 0 then break end
  else
    state = redis.call('GET', key)
    if state and string.byte(state) ~= kind then
      if string.byte(state) == kind + AHEAD or string.byte(state) == BLOCKED then break end
      -- What another algorithm left says nothing to this one.
      state = false
    end
    found = state
  end
  local remaining, retry, reset, at, delay, writes, next = decide(state, now, cost, false, a, b, c, d, e, f, g)
  local ttl = reset + SLACK
  if clock > 0 and ttl < LEAST_TTL_UNDER_OTHER_CLOCKS then ttl = LEAST_TTL_UNDER_OTHER_CLOCKS end
  if writes == NOTHING then
    local has = found and redis.call('PTTL', key)
    -- A log that was written under a shorter window ends too soon.
    if has and (has == -1 or open and has < ttl - NEAR) then redis.call('PEXPIRE', key, ttl) end
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

local numbers = { cmsgpack.unpack(ARGV[1]) }
if math.max(unpack(numbers)) > MOST then error('sluice: expected whole numbers up to 2^53 - 1') end
local corrects = operation == REFUND or operation == SETTLE

-- The log is read and written in parts, every other state as a whole. Returns the state, whether there is one, the
-- instant up to which there are reservations, or were, and the state of a block where one stands before it.
local function read(key, open, kind)
  if open then
    local log, found = open(key)
    return log, found, log.ahead or 0, log.origin > 0 and log.prefix
  end
  local state, prefix = redis.call('GET', key), false
  if state and string.byte(state) == BLOCKED then
    prefix, state = string.sub(state, 1, BLOCK_BYTES), string.sub(state, BLOCK_BYTES + 1)
  end
  if not state or string.byte(state) == kind then return state, state, 0, prefix end
  -- What another algorithm left says nothing to this one.
  if string.byte(state) ~= kind + AHEAD then return false, false, 0, prefix end
  return string.sub(state, MARK + 1), true, struct.unpack('<d', state, 2), prefix
end

-- Stores what is to be written of a key. How long it lives is only garbage collection: what is stale counts as absent.
local function write(key, open, add, aligned, state, found, ahead, prefix, writes, next, reset, at, units)
  local ttl = reset + SLACK
  if clock > 0 and ttl < LEAST_TTL_UNDER_OTHER_CLOCKS then ttl = LEAST_TTL_UNDER_OTHER_CLOCKS end
  if ahead > now and not add and writes ~= NOTHING then
    next = struct.pack('<Bd', string.byte(next) + AHEAD, ahead) .. next
  end
  if prefix then
    local _, _, writeBehind = algorithm(BLOCKS, corrects, now, clock, operation, numbers)
    writeBehind(prefix, key, open, add, state, writes, next, reset, at, units)
  elseif writes ~= NOTHING and add then
    add(state, next, at, units, ttl)
  elseif writes ~= NOTHING then
    local has = aligned and found and clock == 0 and redis.call('PTTL', key)
    if has and has > ttl - NEAR and has < ttl + NEAR then
      redis.call('SET', key, next, 'KEEPTTL')
    else
      redis.call('SET', key, next, 'PX', ttl)
    end
  elseif found and (corrects or operation == CONSUME) then
    -- A refund may take the last entry of a log; a key that has lost its TTL would live for ever; and a log that was written
    -- under a shorter window would end too soon.
    local has = corrects and -1 or redis.call('PTTL', key)
    if has == -1 or open and ahead <= now and has < ttl - NEAR then redis.call('PEXPIRE', key, ttl) end
  end
  if add and (ahead > now or state.ahead) and (writes ~= NOTHING or corrects) then
    local byte = string.byte(redis.call('GETRANGE', key, state.origin, state.origin))
    local kind = byte and byte % AHEAD
    if kind then redis.call('SETRANGE', key, state.origin, string.char(ahead > now and kind + AHEAD or kind)) end
  end
end

if corrects then
  local corrected = { string.format('%d', now) }
  -- Takes what a refund gives back from the keys from i on, or adds what a settlement was not charged yet.
  local function correct(i, position)
    local key = KEYS[i]
    if not key then return end
    local units, from, to = numbers[position + 2], position + 3, position + numbers[position]
    local decide, kind, aligned, refund, open, add, recede = algorithm(numbers[position + 1], true)
    local state, found, ahead, prefix = read(key, open, kind)
    -- All are read before any is written: what fails then has changed nothing.
    correct(i + 1, to + 1)

    -- It stands ahead no more.
    if units > 0 and ahead > 0 and ahead <= now and not open then
      redis.call('SET', key, (prefix or '') .. state, 'KEEPTTL')
    end
    local time = math.max(now, ahead)
    local lacking, remaining, retry, reset, at, delay, writes, next = 0
    -- Those behind were told their turns by what stood before them: of a bucket only the last place can be given back.
    local last = not recede or ahead <= now or numbers[from] == ahead
    if units > 0 and operation == REFUND and found and last then
      next = refund(state, time, units, unpack(numbers, from, to))
      if open then next = open(key) end
      if recede and time > now then
        next, ahead = recede(next, time, now, numbers[from + 2])
        time = ahead
      end
      remaining, retry, reset, at = decide(next, time, 0, false, unpack(numbers, from + 2, to))
      reset = reset + time - now
      writes = reset > 0 and not open and ALWAYS or NOTHING
      if reset == 0 and not prefix then redis.call('DEL', key) end
    elseif units > 0 and operation == SETTLE then
      -- Beyond the limit too.
      remaining, retry, reset, at, delay, writes, next = decide(state, time, 0, true, unpack(numbers, from + 2, to))
      local settled, less = refund(open and state or next, time, -units, unpack(numbers, from, to))
      lacking = less or 0
      if not open then
        next = settled
        remaining, retry, reset, at = decide(settled, time, 0, false, unpack(numbers, from + 2, to))
        if reset > 0 then writes = ALWAYS end
      elseif settled then
        remaining, retry, reset, at = decide(open(key), time, 0, false, unpack(numbers, from + 2, to))
      elseif numbers[from] > at - numbers[to] then
        -- Nothing was charged at first, so there is no entry of it.
        writes, reset = ALWAYS, numbers[to]
      end
      reset = reset + time - now
    end
    corrected[1 + i] = string.format('%d', math.max(0, lacking))
    if reset then write(key, open, add, aligned, state, found, ahead, prefix, writes, next, reset, at, units) end
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
    local state, found, ahead, prefix = read(key, open, kind)
    local time = math.max(now, ahead)
    local _, _, reset = decide(state, time, 0, false, unpack(numbers, position + 2, to))
    reset = reset + time - now
    -- All are read before any is written: what fails then has changed nothing.
    set(i + 1, to + 1)

    local _, put, _, _, blockedFor = algorithm(BLOCKS, false, now, clock, operation, numbers)
    if operation == BLOCK then
      put(key, open, state, found, ahead, blockedFor(prefix, cost), reset)
    elseif prefix then
      put(key, open, state, found, ahead, false, reset)
    end
  end

  set(1, 4)
  return '.'
end

local reply = {}

-- Charges all keys at the first instant at which all admit, if that is within the last number.
if operation == RESERVE then
  local parts, from, time, blocked = {}, 4, now, false
  for i, key in ipairs(KEYS) do
    local to = from + numbers[from]
    local decide, kind, aligned, _, open, add = algorithm(numbers[from + 1])
    local state, found, ahead, prefix = read(key, open, kind)
    time = math.max(time, ahead)
    -- Who is blocked gets no place.
    blocked = blocked or prefix and select(4, algorithm(BLOCKS, false, now, clock, operation, numbers))(prefix)
    parts[i] = { decide, state, { unpack(numbers, from + 2, to) }, aligned, open, add, state, found, prefix }
    from = to + 1
  end
  -- Returns the first instant from `time` on at which all admit, if there is one, and how long they hold the request then.
  local function fits()
    local first, held = time, 0
    for _, part in ipairs(parts) do
      local decide, state, own = unpack(part, 1, 3)
      local remaining, retry, reset, at, delay, writes, next = decide(state, time, cost, false, unpack(own))
      if retry == NEVER then return end
      if retry > 0 then first = math.max(first, at + retry) end
      held = math.max(held, delay)
      -- What is taken over from other numbers is so for the wait that was just told.
      if retry > 0 and writes == ALWAYS then part[2] = next end
      part.outcome = { writes, next, remaining, reset, at, delay }
    end
    return first, held
  end

  local most = now + numbers[#numbers]
  local first, held = fits()
  if first and first > time and first <= most then
    time = first
    first, held = fits()
  end
  if not blocked and first == time and time + held <= most then
    for i, part in ipairs(parts) do
      local writes, next, remaining, reset, at, delay = unpack(part.outcome)
      local aligned, open, add, state, found, prefix = unpack(part, 4, 9)
      local ahead = time > now and at or 0
      write(KEYS[i], open, add, aligned, state, found, ahead, prefix, writes, next, reset + at - now, at, cost)
      reply[i] = string.format('%d 0 %d %d %d', remaining, reset, at, time - now + delay)
    end
    return table.concat(reply, ',') .. '.'
  end
end

-- Judges the keys from i on, given whether those before admit, and whether one of them is blocked; returns whether all do,
-- and one is, and adds what it replies.
local function judge(i, position, admitted, blocked, before, decide, kind, aligned, _, open, add)
  local key = KEYS[i]
  if not key then return admitted, blocked end
  local units, code, from, to, strikes = cost, numbers[position + 1], position + 2, position + numbers[position]
  local onwards = to + 1
  if code >= BLOCKING then code, strikes, to = code - BLOCKING, to - 4, to - 5 end
  -- Making functions costs: those of the policy before serve one of the same algorithm.
  if code ~= before then decide, kind, aligned, _, open, add = algorithm(code) end
  local state, found, ahead, prefix = read(key, open, kind)
  if prefix and operation ~= CHARGE then
    blocked = blocked or select(4, algorithm(BLOCKS, false, now, clock, operation, numbers))(prefix)
  end

  -- Where there are reservations, nobody passes before, and nothing is written.
  local wait = math.max(0, ahead - now)
  local time = now + wait

  local remaining, retry, reset, at, delay, writes, next
  if operation == CHARGE then
    remaining = decide(state, time, 0, false, unpack(numbers, from + 1, to))
    units = wait > 0 and 0 or math.min(numbers[from], remaining)
    remaining, retry, reset, at, delay, writes, next = decide(state, time, units, false, unpack(numbers, from + 1, to))
    delay = units
    admitted = judge(i + 1, onwards, admitted, blocked, code, decide, kind, aligned, nil, open, add)
  else
    remaining, retry, reset, at, delay, writes, next = decide(state, time, units, false, unpack(numbers, from, to))
    if wait > 0 then
      if units > 0 and retry ~= NEVER then retry = math.min(retry + wait, MOST) end
      delay = units == 0 and delay > 0 and math.min(delay + wait, MOST) or 0
      writes = units > 0 and IF_ADMITTED or NOTHING
    end
    admitted, blocked =
      judge(i + 1, onwards, admitted and retry == 0, blocked, code, decide, kind, aligned, nil, open, add)
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
    if operation ~= CONSUME and operation ~= CONSUME_DENIED or writes == IF_ADMITTED and not admitted then
      -- What the request is told of its own chances, and the rest as it stands without it.
      local _
      remaining, _, reset, at = decide(state, time, 0, false, unpack(numbers, from, to))
      writes = NOTHING
    end
  end
  if wait > 0 then
    remaining, reset = 0, math.min(reset + wait, MOST)
  end
  if blocked or strikes and retry > 0 then
    local judgeBlock = algorithm(BLOCKS, false, now, clock, operation, numbers)
    remaining, retry, reset, at, delay = judgeBlock(blocked, key, open, decide, aligned, state, found, ahead, prefix,
      units, from, to, strikes, writes, next, remaining, retry, reset, at, delay)
  else
    write(key, open, add, aligned, state, found, ahead, prefix, writes, next, reset, at, units)
  end
  if retry == 0 and delay == 0 then
    reply[i] = string.format('%d %d %d', remaining, reset, at)
  else
    reply[i] = string.format('%d %d %d %d %d', remaining, retry, reset, at, delay)
  end
  return admitted, blocked
end

judge(1, 4, operation ~= CONSUME_DENIED and operation ~= PEEK_DENIED, false)
return table.concat(reply, ',') .. '.'
