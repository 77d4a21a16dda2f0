-- Keys with a block (algorithms/block.lua, in scope here), or on the way to one.
--
-- The state of the block stands before that of the policy's algorithm, as a prefix; a key without any has none. In scope
-- are the clock, the operation and the numbers of the envelope (envelope.lua), and its constants.

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

-- The prefix to write a state behind: none if it means nothing any more. And a log without it, if that is not written whole.
local function fresh(key, open, state, prefix, reset)
  if not consumes or lastsUntil(unpacked(prefix)) > now then return prefix end
  if open and state.length and state.length > #state.first then
    put(key, open, state, true, false, reset)
    state.origin = 0
  end
  if open then state.prefix = '' end
  return false
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
  if ends == now then return remaining, retry, reset, at end
  if ends == MOST then return -block.by, NEVER, NEVER, now end
  retry = retry == NEVER and NEVER or math.min(ends - now + retry, MOST)
  return -block.by, retry, math.min(ends - now + reset, MOST), now
end

-- Judges a request of a key that is blocked, which changes nothing; or one that the policy has denied, with what it said
-- of it: a strike, which may begin a block.
local function judgeBlock(key, open, decide, aligned, state, found, prefix, units, from, to, strikes, writes, next, ...)
  local block, changes = (prefix or not blocked) and unpacked(prefix), not blocked
  local remaining, retry, reset, at = ...
  if not blocked then
    strike(block, now, unpack(numbers, strikes, strikes + 4))
    if writes == ALWAYS then state, found = next, true end
  elseif block and block.began > now and consumes then
    rebase(block, now)
    changes = true
  end
  if blocked or endOf(block, now) > now then
    remaining, retry, reset, at = tell(decide, aligned, state, block, units, from, to)
  end
  if changes then
    put(key, open, state, found, packed(block), reset)
  elseif operation == CONSUME and (found or prefix) and redis.call('PTTL', key) == -1 then
    redis.call('PEXPIRE', key, ttlOf(prefix, reset))
  end
  return remaining, retry, reset, at
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

return judgeBlock, put, ttlOf, fresh, isBlocked, blockedFor
