/**
 * The Lua scripts of a shared quota; Redis runs each atomically. They need Redis 5: earlier versions do not let a script write after it
 * has read the time. All keys of one quota are in one slot.
 */
import { MIN_PART } from './messages.ts';

/** Every clock of a shared quota is the server's. */
const NOW = `
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))`;

/**
 * A pod's turn. The pod becomes the coordinator if there is none, or if it was the coordinator under an older token.
 * KEYS: coordinator, pods, events, this pod's permits, free. ARGV: pod, token, want, in flight, spent, the coordinator's lease, the TTL of
 * all keys, the most pending events, a pod's lease, events. A pod's state is "seen want inFlight spent share". The share is `partLeftBy` of
 * `messages`, divided by the present pods.
 */
export const TURN = `${NOW}
local pod, token = ARGV[1], ARGV[2]
local leader = redis.call('GET', KEYS[1])
if not leader or (leader ~= token and string.sub(leader, 1, #pod + 1) == pod .. '~') then
  redis.call('SET', KEYS[1], token, 'PX', ARGV[6])
  leader = token
end
local grants = redis.call('LRANGE', KEYS[4], 0, -1)
redis.call('DEL', KEYS[4])
local spent, there, theirs = tonumber(ARGV[5]), 1, 0
local pods = redis.call('HGETALL', KEYS[2])
for i = 1, #pods, 2 do
  if pods[i] ~= pod then
    local seen, sent, share = string.match(pods[i + 1], '^(%S+) %S+ %S+ (%S+) (%S+)$')
    if tonumber(seen) + ARGV[9] >= tonumber(now) then
      there = there + 1
    else
      theirs = theirs + tonumber(share)
    end
    if tonumber(seen) + 60000 > tonumber(now) then spent = spent + tonumber(sent) end
  end
end
local share = string.format('%.15g', math.max(${MIN_PART}, 1 - theirs) / there)
redis.call('HSET', KEYS[2], pod, table.concat({ now, math.max(0, ARGV[3] - #grants), ARGV[4] + #grants, ARGV[5], share }, ' '))
redis.call('PEXPIRE', KEYS[2], ARGV[7])
for i = 10, #ARGV do redis.call('RPUSH', KEYS[3], ARGV[i]) end
if #ARGV > 9 then
  redis.call('LTRIM', KEYS[3], -ARGV[8], -1)
  redis.call('PEXPIRE', KEYS[3], ARGV[7])
end
return { now, leader, share, spent, redis.call('GET', KEYS[5]) or '0', grants }`;

/**
 * The coordinator's turn; returns false when another pod coordinates. It applies the coordinator's events, and moves the pods' events into
 * the history. KEYS: coordinator, pods, events, history, free, and for each event the permits of its pod (or the history).
 * ARGV:
 * - the token, the coordinator's lease, a pod's lease, the TTL of all keys
 * - the size of the history, the free permits, the number of events taken at once, the prefix of the keys of permits
 * - the time after which a missing pod has ended, the number of pods to forget, the number of events
 * - the pods to forget
 * - for each event: its pod or '', its text, its number of permits, the permits
 */
export const LEAD = `${NOW}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SET', KEYS[5], ARGV[6], 'PX', ARGV[4])
local at = 12
for _ = 1, tonumber(ARGV[10]) do
  redis.call('HDEL', KEYS[2], ARGV[at])
  at = at + 1
end
for event = 1, tonumber(ARGV[11]) do
  local pod, text, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  redis.call('RPUSH', KEYS[4], now .. ' ' .. text)
  for i = at + 3, at + 2 + count do redis.call('RPUSH', KEYS[5 + event], ARGV[i] .. ' ' .. now) end
  if count > 0 then
    redis.call('PEXPIRE', KEYS[5 + event], ARGV[3])
    local state = redis.call('HGET', KEYS[2], pod)
    if state then
      local seen, want, flying, rest = string.match(state, '^(%S+) (%S+) (%S+) (.+)$')
      redis.call('HSET', KEYS[2], pod, table.concat({ seen, math.max(0, want - count), flying + count, rest }, ' '))
    end
  end
  at = at + 3 + count
end
local told = redis.call('LRANGE', KEYS[3], 0, ARGV[7] - 1)
redis.call('LTRIM', KEYS[3], ARGV[7], -1)
for _, text in ipairs(told) do redis.call('RPUSH', KEYS[4], now .. ' ' .. text) end
redis.call('LTRIM', KEYS[4], -ARGV[5], -1)
redis.call('PEXPIRE', KEYS[4], ARGV[4])
local pods = redis.call('HGETALL', KEYS[2])
local there, places, missing = {}, {}, {}
local function since(state) return tonumber(now) - tonumber(string.match(state, '^%S+')) end
local function place(pod) return string.match(pod, '^(.+)%.') end
for i = 1, #pods, 2 do
  if since(pods[i + 1]) <= tonumber(ARGV[3]) then
    there[#there + 1] = pods[i]
    there[#there + 1] = pods[i + 1]
    if place(pods[i]) then places[place(pods[i])] = true end
  end
end
for i = 1, #pods, 2 do
  local away = since(pods[i + 1])
  if away > tonumber(ARGV[3]) then
    redis.call('DEL', ARGV[8] .. pods[i])
    if away > tonumber(ARGV[9]) or (place(pods[i]) and places[place(pods[i])]) then
      redis.call('HDEL', KEYS[2], pods[i])
    else
      missing[#missing + 1] = pods[i]
      missing[#missing + 1] = string.match(pods[i + 1], '%S+$')
    end
  end
end
return { now, there, told, missing }`;

/** A pod leaves. KEYS: coordinator, pods, events, its permits. ARGV: pod, token, the TTL of all keys, events. */
export const LEAVE = `
for i = 4, #ARGV do redis.call('RPUSH', KEYS[3], ARGV[i]) end
if #ARGV > 3 then redis.call('PEXPIRE', KEYS[3], ARGV[3]) end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('DEL', KEYS[4])
if redis.call('GET', KEYS[1]) == ARGV[2] then redis.call('DEL', KEYS[1]) end
return 1`;

/**
 * Tries every command of the other scripts on a key that is not used otherwise, so that a missing right shows at the start. KEYS: a key of
 * the quota.
 */
export const GREET = `${NOW}
local key = KEYS[1] .. ':greeting:' .. now
redis.call('HSET', key, 'a', '1')
redis.call('HGET', key, 'a')
redis.call('HGETALL', key)
redis.call('HDEL', key, 'a')
redis.call('RPUSH', key, '1')
redis.call('LRANGE', key, 0, -1)
redis.call('PEXPIRE', key, 1000)
redis.call('LTRIM', key, 1, 0)
redis.call('SET', key, '1', 'PX', 1000)
redis.call('GET', key)
redis.call('DEL', key)
return 1`;
