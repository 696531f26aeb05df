/** The Lua scripts of the ledger; Redis runs each atomically. */

/**
 * A claim's value: its holder, a line feed, and the seed of the Idempotency-Key under which the lookup was asked for first. Where a promise
 * is open, a unit separator and the lookup follow, as an answer is kept. Older versions kept the note with the ticket alone.
 * KEYS: answer, claim, answer, claim ... ARGV: the holder, the prefix of holders' keys, the TTL of a claim in milliseconds, the most
 * claims, the holder's seed, then for each lookup the known answer that cannot be used ('' without one). Returns for each: the answer; 1
 * when the holder is to ask; [seed, promise] for the same where an ended run was asking, or a promise is open; 0 when a living run is
 * asking.
 */
export const CLAIM = `
local out = {}
local taken = 0
for i = 1, #KEYS / 2 do
  local answer = redis.call('GET', KEYS[2 * i - 1])
  if answer and answer ~= ARGV[5 + i] then
    out[i] = answer
  else
    local claim = redis.call('GET', KEYS[2 * i])
    local holder, seed, note = nil, ARGV[5], ''
    if claim then holder, seed, note = string.match(claim, '^([^\\n]*)\\n([^\\31]*)\\31?(.*)$') end
    local own = 1
    if seed ~= ARGV[5] or note ~= '' then own = {seed, note} end
    if holder == ARGV[1] then
      out[i] = own
    elseif (holder and redis.call('EXISTS', ARGV[2] .. holder) == 1) or taken >= tonumber(ARGV[4]) then
      out[i] = 0
    else
      redis.call('SET', KEYS[2 * i], ARGV[1] .. '\\n' .. seed .. (note == '' and '' or '\\31' .. note), 'PX', ARGV[3])
      taken = taken + 1
      out[i] = own
    end
  end
end
return out`;

/**
 * Takes the holder out of its claims, and leaves seed and note to the next run that asks. KEYS: claims. ARGV: the holder, the TTL of a
 * claim in milliseconds.
 */
export const LEAVE = `
for i = 1, #KEYS do
  local holder, seed = string.match(redis.call('GET', KEYS[i]) or '', '^([^\\n]*)\\n(.*)$')
  if holder == ARGV[1] then redis.call('SET', KEYS[i], '\\n' .. seed, 'PX', ARGV[2]) end
end
return 1`;

/**
 * Keeps a promise in the holder's claim, which a ticket of several lookups gets with it. KEYS: the claim. ARGV: the holder, the TTL of a
 * claim in milliseconds, the promise.
 */
export const PROMISE = `
local claim = redis.call('GET', KEYS[1])
local holder, seed = ARGV[1], ''
if claim then holder, seed = string.match(claim, '^([^\\n]*)\\n([^\\31]*)') end
if holder == ARGV[1] then redis.call('SET', KEYS[1], ARGV[1] .. '\\n' .. seed .. '\\31' .. ARGV[3], 'PX', ARGV[2]) end
return 1`;

/**
 * Takes the promise out of a claim. KEYS: the claim. ARGV: its value when it was read, the value without the promise, the TTL of a claim in
 * milliseconds. Returns 1 when the promise is gone now.
 */
export const FORGET_PROMISE = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`;

/**
 * KEYS: the run, then answer, claim, answer, claim ... ARGV: the holder, the run's job, lookups, reused and latest time ('': as they were),
 * its spending ('': as it was), then each answer.
 */
export const KEEP = `
if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'job', ARGV[2], 'lookups', ARGV[3], 'reused', ARGV[4], 'lastAt', ARGV[5]) end
if ARGV[6] ~= '' then redis.call('HSET', KEYS[1], 'spent', ARGV[6]) end
for i = 1, (#KEYS - 1) / 2 do
  redis.call('SET', KEYS[2 * i], ARGV[6 + i])
  local claim = redis.call('GET', KEYS[2 * i + 1])
  if claim and string.match(claim, '^[^\\n]*') == ARGV[1] then redis.call('DEL', KEYS[2 * i + 1]) end
end
return 1`;

/** KEYS: the holder's. ARGV: milliseconds. Returns 1 when it was still there. */
export const BEAT = `
local there = redis.call('EXISTS', KEYS[1])
redis.call('SET', KEYS[1], '1', 'PX', ARGV[1])
return there`;

/** KEYS: an answer. ARGV: its value when it was read. Returns 1 when it is gone now. */
export const FORGET = `
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])`;

/** Tries the commands of the other scripts on an unused key, so that a missing right shows before any call is sent. KEYS: such a key. */
export const TRY = `
redis.call('HSET', KEYS[1], 'a', '1')
redis.call('EXISTS', KEYS[1])
redis.call('SET', KEYS[1], '1', 'PX', 1000)
redis.call('GET', KEYS[1])
redis.call('DEL', KEYS[1])
return 1`;
