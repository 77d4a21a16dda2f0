-- Keys with a block (algorithms/block.lua, in scope here), or on the way to one.
--
-- The state of the block stands before that of the policy's algorithm, as a prefix; a key without any has none. In scope
-- are also the clock, the operation and the numbers of the envelope (envelope.lua).

local consumes = operation == CONSUME or operation == CONSUME_DENIED

-- How long a key lives whose policy finds it as new in `reset` ms.
local function ttlOf(prefix, reset)
  local lasts = prefix and lastsUntil(unpacked(prefix)) - now or 0
  local ttl = math.max(reset, lasts) + SLACK
  return clock > 0 and math.max(ttl, LEAST_TTL_UNDER_OTHER_CLOCKS) or ttl
end

-- Has this prefix, or none, stand before a state, which stays or, of other algorithms than the log, is `state`.
local function put(key, open, state, found, prefix, reset)
  local ttl = ttlOf(prefix, reset)
  if open and found and prefix and state.origin > 0 then
    redis.call('SETRANGE', key, 0, prefix)
    redis.call('PEXPIRE', key, ttl)
    return
  end
  if open then state = found and redis.call('GETRANGE', key, state.origin, -1) end
  local value = (prefix or '') .. (state or '')
  if value == '' then
    redis.call('DEL', key)
  else
    redis.call('SET', key, value, 'PX', ttl)
  end
end

-- Stores what is to be written of a key with a prefix, as the envelope does of others. A prefix that means nothing any
-- more is not written again.
local function writeBehind(prefix, key, open, add, state, writes, next, reset, at, units)
  if consumes and writes ~= NOTHING and lastsUntil(unpacked(prefix)) <= now then
    -- A log that is not written as a whole.
    if open and state.length and state.length > #state.first then put(key, open, state, true, false, reset) end
    if open then state.prefix, state.origin = '', 0 end
    prefix = false
  end
  local ttl = ttlOf(prefix, reset)
  if writes ~= NOTHING and add then
    add(state, next, at, units, ttl)
  elseif writes ~= NOTHING then
    redis.call('SET', key, (prefix or '') .. next, 'PX', ttl)
  elseif operation == REFUND and reset == 0 then
    put(key, open, false, false, prefix, reset)
  elseif corrects or operation == CONSUME and redis.call('PTTL', key) == -1 then
    redis.call('PEXPIRE', key, ttl)
  end
end

-- What one policy says of a request that is charged to nobody, at the end of its block if it has one.
local function tell(decide, aligned, state, block, units, from, to)
  local own = { unpack(numbers, from, to) }
  -- The last number is countDenied: a request of a key that is blocked does not count.
  if aligned then own[#own] = 0 end
  local ends = block and math.max(now, endOf(block, now)) or now
  local past = ends == MOST and now or ends
  local _, retry = decide(state, past, units, false, unpack(own))
  local remaining, _, reset, at = decide(state, past, 0, false, unpack(own))
  -- What is charged to nobody waits in no queue.
  if ends == now then return remaining, retry, reset, at, 0 end
  at = math.max(now, block.began)
  if ends == MOST then return -block.by, NEVER, NEVER, at, ends - now end
  retry = retry == NEVER and NEVER or math.min(ends - now + retry, MOST)
  return -block.by, retry, math.min(ends - now + reset, MOST), at, ends - now
end

-- Judges a request of a key that is blocked, which changes nothing; or one that the policy has denied, with what it said
-- of it: a strike, which may begin a block.
local function judgeBlock(blocked, key, open, decide, aligned, state, found, prefix, units, from, to, strikes, writes, next, ...)
  local block, changes = (prefix or not blocked) and unpacked(prefix), not blocked
  local remaining, retry, reset, at, delay = ...
  if not blocked then
    strike(block, now, unpack(numbers, strikes, strikes + 4))
    if writes == ALWAYS then state, found = next, true end
  elseif block and block.began > now and consumes then
    rebase(block, now)
    changes = true
  end
  if blocked or endOf(block, now) > now then
    remaining, retry, reset, at, delay = tell(decide, aligned, state, block, units, from, to)
  end
  if changes then
    put(key, open, state, found, packed(block), reset)
  elseif operation == CONSUME and (found or prefix) and redis.call('PTTL', key) == -1 then
    redis.call('PEXPIRE', key, ttlOf(prefix, reset))
  end
  return remaining, retry, reset, at, delay
end

local function isBlocked(prefix)
  return endOf(unpacked(prefix), now) > now
end

-- The prefix of a key that is blocked by hand from now on.
local function blockedFor(prefix, duration)
  local block = unpacked(prefix)
  blockFor(block, now, duration)
  return packed(block)
end

return judgeBlock, put, writeBehind, isBlocked, blockedFor
