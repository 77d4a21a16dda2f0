-- One decision over any number of policies: all or nothing, in one step.
--
-- KEYS: one per policy. ARGV: what to do (consume, peek, refund, reset); the numbers, packed as doubles; then for each
--   key the name of its algorithm.
-- The numbers: 1 if the caller brings a clock, its now, the cost; then for each key how many numbers follow, those of
--   its policy, and before them for a refund the instant and the level of the charge.
-- Reply of consume and peek: for each key fits, remaining, retry (-1: never), reset, delay, at; text from 1e15 on.
--
-- The only Lua here and in log.lua that calls Redis. Nothing is written before every number has been checked. Numbers
-- and states are packed, and what one policy needs is kept in locals down a recursion, because parsing text and making
-- tables and functions were dearer than deciding.

local SLACK = 500
local LEAST_TTL_UNDER_OTHER_CLOCKS = 60000

local operation = ARGV[1]
if operation == 'reset' then return redis.call('DEL', unpack(KEYS)) end

local numbers = { struct.unpack('<' .. string.rep('d', #ARGV[2] / 8), ARGV[2]) }
for i = 1, #numbers - 1 do
  local number = numbers[i]
  -- Also false for NaN, infinity, and the negative zero.
  if not (number % 1 == 0 and 1 / number > 0 and number <= MOST) then
    error('sluice: expected a whole number up to 2^53 - 1, got ' .. tostring(number))
  end
end

local now, cost = numbers[2], numbers[3]
local leastTtl = LEAST_TTL_UNDER_OTHER_CLOCKS
if numbers[1] == 0 then
  local time = redis.call('TIME')
  local microseconds = time[2] + 0
  now = time[1] * 1000 + (microseconds - microseconds % 1000) / 1000
  leastTtl = 0
end

local replies = {}

-- Judges the keys from i on, given whether those before admit; returns whether all do.
local function judge(i, position, admitted)
  local key = KEYS[i]
  if not key then return admitted end
  local from, to = position + 1, position + numbers[position]
  local decide, refund, open = algorithm(ARGV[2 + i])

  -- Only the log is read and written in parts.
  local state, found
  if open then
    state, found = open(key)
  else
    state = redis.call('GET', key)
    found = state
  end

  local outcome, writes, next
  if operation == 'refund' then
    if not found then return judge(i + 1, to + 1, admitted) end
    next = refund(state, now, cost, unpack(numbers, from, to))
    if open then state = open(key) end
    outcome = decide(open and state or next, now, 0, unpack(numbers, from + 2, to))
    writes = not open and outcome[4] > 0 and ALWAYS or NOTHING
    if outcome[4] == 0 then redis.call('DEL', key) end
    judge(i + 1, to + 1, admitted)
  else
    outcome, writes, next = decide(state, now, cost, unpack(numbers, from, to))
    admitted = judge(i + 1, to + 1, admitted and outcome[1] == 1)
    if operation == 'peek' or writes == IF_ADMITTED and not admitted then
      -- What the request is told of its own chances, and the rest as it stands without it.
      local fits, retry, delay = outcome[1], outcome[3], outcome[5]
      outcome = decide(state, now, 0, unpack(numbers, from, to))
      outcome[1], outcome[3], outcome[5] = fits, retry, delay
      writes = NOTHING
    end
  end

  -- How long the state lives. Only garbage collection: what is stale counts as absent.
  local ttl = outcome[4] + SLACK
  if ttl < leastTtl then ttl = leastTtl end
  if writes ~= NOTHING and open then
    state.add(next, outcome[6], cost, string.format('%d', ttl))
  elseif writes ~= NOTHING then
    redis.call('SET', key, next, 'PX', string.format('%d', ttl))
  elseif found and operation ~= 'peek' and redis.call('PTTL', key) == -1 then
    -- A key that has lost its TTL would live for ever.
    redis.call('PEXPIRE', key, string.format('%d', ttl))
  end

  for j = 1, 6 do
    -- Clients add digits up in ways that are not exact near 2^53.
    if outcome[j] >= 1e15 then outcome[j] = string.format('%d', outcome[j]) end
  end
  replies[i] = outcome
  return admitted
end

judge(1, 4, true)
if not KEYS[2] then return replies[1] end
local reply = {}
for i = 1, #KEYS do
  for j = 1, 6 do reply[#reply + 1] = replies[i] and replies[i][j] end
end
return reply
