-- One decision over any number of policies: all or nothing, in one step.
--
-- KEYS: one per policy. ARGV: what to do (consume, peek, refund, reset), now ('' for the server's clock), the cost,
--   then for each policy the name of its algorithm, how many numbers follow, and the numbers; for a refund also the
--   instant and the level of the charge.
-- Reply of consume and peek: for each policy fits, remaining, retry (-1: never), reset, delay, at; text from 1e15 on.
--
-- The only Lua here that calls Redis. Nothing is written before every number has been checked.

local SLACK = 500
local LEAST_TTL_UNDER_OTHER_CLOCKS = 60000

local function whole(text)
  local number = tonumber(text)
  if not number or string.find(text, '%D') or number > MOST then
    error('sluice: expected a whole number up to 2^53 - 1, got ' .. tostring(text))
  end
  return number
end

local operation = ARGV[1]
if operation == 'reset' then return redis.call('DEL', unpack(KEYS)) end

local injected = ARGV[2] ~= ''
local cost = whole(ARGV[3])

local terms = {}
local position = 4
for i = 1, #KEYS do
  local decide, refund = algorithm(ARGV[position])
  local term = { key = KEYS[i], decide = decide, refund = refund, numbers = {} }
  term.isLog = ARGV[position] == 'sliding-window-log'
  local count = whole(ARGV[position + 1])
  for j = 1, count do term.numbers[j] = whole(ARGV[position + 1 + j]) end
  position = position + 2 + count
  if operation == 'refund' then
    term.charge = { at = whole(ARGV[position]), level = whole(ARGV[position + 1]) }
    position = position + 2
  end
  terms[i] = term
end

local now
if injected then
  now = whole(ARGV[2])
else
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end

-- How long a state lives that is as new after `reset`. Only garbage collection: what is stale counts as absent.
local function ttlOf(reset)
  local ttl = reset + SLACK
  if injected and ttl < LEAST_TTL_UNDER_OTHER_CLOCKS then ttl = LEAST_TTL_UNDER_OTHER_CLOCKS end
  return string.format('%.0f', ttl)
end

local function loadLog(term)
  local key = term.key
  local first = redis.call('GETRANGE', key, 0, FIRST - 1)
  term.found = first ~= ''
  return openLog({
    first = first,
    length = function() return redis.call('STRLEN', key) end,
    range = function(from, to) return redis.call('GETRANGE', key, from, to) end,
    set = function(value) redis.call('SET', key, value, 'PX', ttlOf(term.outcome[4])) end,
    write = function(offset, bytes)
      redis.call('SETRANGE', key, offset, bytes)
      if term.outcome then redis.call('PEXPIRE', key, ttlOf(term.outcome[4])) end
    end,
  })
end

local function load(term)
  if term.isLog then return loadLog(term) end
  local value = redis.call('GET', term.key)
  term.found = value and true
  if not value then return {} end
  local count = #value / 8
  local state = { struct.unpack('<' .. string.rep('d', count), value) }
  state[count + 1] = nil
  return state
end

local function save(term, state)
  if term.isLog then return term.state.add(state, term.outcome[6], cost) end
  local value = struct.pack('<' .. string.rep('d', #state), unpack(state))
  redis.call('SET', term.key, value, 'PX', ttlOf(term.outcome[4]))
end

if operation == 'refund' then
  for _, term in ipairs(terms) do
    local state = load(term)
    if term.found then
      state = term.refund(term.numbers, state, now, cost, term.charge)
      if term.isLog then state = load(term) end
      term.outcome = term.decide(term.numbers, state, now, 0)
      if term.outcome[4] == 0 then
        redis.call('DEL', term.key)
      elseif term.isLog then
        redis.call('PEXPIRE', term.key, ttlOf(term.outcome[4]))
      else
        save(term, state)
      end
    end
  end
  return {}
end

local admitted = true
for _, term in ipairs(terms) do
  term.state = load(term)
  term.outcome, term.writes, term.next = term.decide(term.numbers, term.state, now, cost)
  if term.outcome[1] == 0 then admitted = false end
end

local charge = operation == 'consume'
local reply = {}
for i, term in ipairs(terms) do
  local outcome = term.outcome
  if charge and (term.writes == ALWAYS or term.writes == IF_ADMITTED and admitted) then
    save(term, term.next)
  else
    if term.writes ~= NOTHING then
      -- What the request is told of its own chances, and the rest as it stands without it.
      outcome = term.decide(term.numbers, term.state, now, 0)
      outcome[1], outcome[3], outcome[5] = term.outcome[1], term.outcome[3], term.outcome[5]
    end
    -- A key that has lost its TTL would live for ever.
    if charge and term.found and redis.call('PTTL', term.key) == -1 then
      redis.call('PEXPIRE', term.key, ttlOf(outcome[4]))
    end
  end
  for j = 1, 6 do
    local number = outcome[j]
    -- Clients add digits up in ways that are not exact near 2^53.
    reply[(i - 1) * 6 + j] = number < 1e15 and number or string.format('%.0f', number)
  end
end
return reply
