-- One decision over any number of policies: all or nothing, in one step.
--
-- KEYS: one per policy. ARGV: what to do (consume, peek, charge, refund, settle, reset); the numbers, packed as MessagePack; then
--   for each key the name of its algorithm.
-- The numbers: the cost; the caller's now and 1, or 0 for the server's clock; for each key how many numbers follow,
--   those of its policy, and before them for a charge the units, for a refund or settlement the units, and the instant and
--   the level of what was charged. A charge is not all or nothing: each key is charged by itself, no more than what remains.
-- Reply of consume, peek and charge: for each key remaining, retry (0: it fits, -1: it never will), reset, at, and the delay in
--   the queue or, where another key denies, the wait that comes of being counted all the same, or the units that a charge
--   took; text from 1e15 on. Of a refund or settlement: now, and for each key the units that it was to add and could not keep.
--
-- The only Lua here and in log.lua that calls Redis. Nothing is written before every number has been checked. Numbers
-- and states are packed, and what one policy needs is kept in locals down a recursion, because parsing text and making
-- tables and functions were dearer than deciding.

local SLACK = 500
local LEAST_TTL_UNDER_OTHER_CLOCKS = 60000

if ARGV[1] == 'reset' then return redis.call('DEL', unpack(KEYS)) end

-- The store packs none that is negative or a fraction.
local numbers = { cmsgpack.unpack(ARGV[2]) }
if math.max(unpack(numbers)) > MOST then error('sluice: expected whole numbers up to 2^53 - 1') end

-- The log is read and written in parts, every other state as a whole. Returns the state, and whether there is one.
local function read(key, open, kind)
  if open then return open(key) end
  local state = redis.call('GET', key)
  -- What another algorithm left says nothing to this one.
  if state and string.byte(state) ~= kind then state = false end
  return state, state
end

-- Stores what is to be written of a key. How long it lives is only garbage collection: what is stale counts as absent.
local function write(key, open, state, found, writes, next, outcome, cost)
  local ttl = outcome[RESET] + SLACK
  if numbers[2] > 0 and ttl < LEAST_TTL_UNDER_OTHER_CLOCKS then ttl = LEAST_TTL_UNDER_OTHER_CLOCKS end
  if writes ~= NOTHING and open then
    state.add(next, outcome[AT], cost, string.format('%d', ttl))
  elseif writes ~= NOTHING then
    redis.call('SET', key, next, 'PX', string.format('%d', ttl))
  elseif found and (ARGV[1] == 'refund' or ARGV[1] == 'settle' or ARGV[1] == 'consume' and redis.call('PTTL', key) == -1) then
    -- A refund may take the last entry of a log; and a key that has lost its TTL would live for ever.
    redis.call('PEXPIRE', key, string.format('%d', ttl))
  end
end

local now = numbers[2] - 1
if now < 0 then
  local time = redis.call('TIME')
  local microseconds = time[2] + 0
  now = time[1] * 1000 + (microseconds - microseconds % 1000) / 1000
end

-- Making a function costs; most calls are no refunds.
if ARGV[1] == 'refund' or ARGV[1] == 'settle' then
  local corrected = { now }
  -- Takes what a refund gives back from the keys from i on, or adds what a settlement was not charged yet.
  local function correct(i, position)
    local key = KEYS[i]
    if not key then return end
    local units, from, to = numbers[position + 1], position + 2, position + numbers[position]
    local decide, refund, open, kind = algorithm(ARGV[2 + i])
    local state, found = read(key, open, kind)
    corrected[1 + i] = 0
    -- All are read before any is written: what fails then has changed nothing.
    correct(i + 1, to + 1)

    local outcome, writes, next
    if units == 0 then return end
    if ARGV[1] == 'refund' and found then
      next = refund(state, now, units, unpack(numbers, from, to))
      if open then next = open(key) end
      outcome = decide(next, now, 0, unpack(numbers, from + 2, to))
      writes = outcome[RESET] > 0 and not open and ALWAYS or NOTHING
      if outcome[RESET] == 0 then redis.call('DEL', key) end
    elseif ARGV[1] == 'settle' then
      -- Beyond the limit too.
      outcome, writes, next = decide(state, now, 0, unpack(numbers, from + 2, to))
      local settled, less = refund(open and state or next, now, -units, unpack(numbers, from, to))
      -- Clients add digits up in ways that are not exact near 2^53.
      if less and less > 0 then corrected[1 + i] = less >= 1e15 and string.format('%d', less) or less end
      if not open then
        next, outcome = settled, decide(settled, now, 0, unpack(numbers, from + 2, to))
        if outcome[RESET] > 0 then writes = ALWAYS end
      elseif settled then
        outcome = decide(open(key), now, 0, unpack(numbers, from + 2, to))
      elseif numbers[from] > outcome[AT] - numbers[to] then
        -- Nothing was charged at first, so there is no entry of it.
        writes, outcome[RESET] = ALWAYS, numbers[to]
      end
    end
    if outcome then write(key, open, state, found, writes, next, outcome, units) end
  end

  correct(1, 3)
  return corrected
end

-- Judges the keys from i on, given whether those before admit; returns whether all do, and the reply for these keys.
local function judge(i, position, admitted)
  local key = KEYS[i]
  if not key then return admitted end
  local cost, from, to = numbers[1], position + 1, position + numbers[position]
  local decide, _, open, kind = algorithm(ARGV[2 + i])
  local state, found = read(key, open, kind)

  local outcome, writes, next, rest
  if ARGV[1] == 'charge' then
    cost = math.min(numbers[from], decide(state, now, 0, unpack(numbers, from + 1, to))[REMAINING])
    outcome, writes, next = decide(state, now, cost, unpack(numbers, from + 1, to))
    outcome[DELAY] = cost
    admitted, rest = judge(i + 1, to + 1, admitted)
  else
    outcome, writes, next = decide(state, now, cost, unpack(numbers, from, to))
    admitted, rest = judge(i + 1, to + 1, admitted and outcome[RETRY] == 0)
    if writes == ALWAYS and not admitted and outcome[RETRY] == 0 then
      -- Another policy denies, but here the request counts, and the wait is worked out after that.
      local once = { unpack(numbers, from, to) }
      -- Its last number is countDenied.
      once[#once] = 0
      outcome[DELAY] = decide(next, now, cost, unpack(once))[RETRY]
    elseif not admitted then
      outcome[DELAY] = 0
    end
    if ARGV[1] == 'peek' or writes == IF_ADMITTED and not admitted then
      -- What the request is told of its own chances, and the rest as it stands without it.
      local retry, delay = outcome[RETRY], outcome[DELAY]
      outcome = decide(state, now, 0, unpack(numbers, from, to))
      outcome[RETRY], outcome[DELAY] = retry, delay
      writes = NOTHING
    end
  end
  write(key, open, state, found, writes, next, outcome, cost)

  for j = 1, 5 do
    -- Clients add digits up in ways that are not exact near 2^53.
    if outcome[j] >= 1e15 then outcome[j] = string.format('%d', outcome[j]) end
  end
  if rest then
    for j = 1, #rest do outcome[5 + j] = rest[j] end
  end
  return admitted, outcome
end

local _, reply = judge(1, 3, true)
return reply
