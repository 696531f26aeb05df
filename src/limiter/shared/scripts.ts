/**
 * What happens in Redis, each script at once and whole. Needs Redis 5: earlier ones do not let a script write what depends on
 * the time. All keys of one quota lie in one slot.
 */
import { LEAST_PART } from './messages.ts';

/** Every clock of a shared quota is Redis' own. */
const NOW = `
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))`;

/**
 * A pod's turn. Leads, if nobody does, or if it led itself and lost its way.
 * KEYS: leader, pods, told, this pod's permits, free. ARGV: pod, token, want, in flight, spent, the leader's lease, how long all is kept, how much is told at most, a pod's lease, events.
 * A pod's state is "seen want inFlight spent share". The share is `partOfThose` of `messages`, of each of them.
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
local share = string.format('%.15g', math.max(${LEAST_PART}, 1 - theirs) / there)
redis.call('HSET', KEYS[2], pod, table.concat({ now, math.max(0, ARGV[3] - #grants), ARGV[4] + #grants, ARGV[5], share }, ' '))
redis.call('PEXPIRE', KEYS[2], ARGV[7])
for i = 10, #ARGV do redis.call('RPUSH', KEYS[3], ARGV[i]) end
if #ARGV > 9 then
  redis.call('LTRIM', KEYS[3], -ARGV[8], -1)
  redis.call('PEXPIRE', KEYS[3], ARGV[7])
end
return { now, leader, share, spent, redis.call('GET', KEYS[5]) or '0', grants }`;

/**
 * The leader's turn; false: somebody else leads. What it says is done, what pods told is noted and handed over.
 * KEYS: leader, pods, told, history, free, and of each event the permits of the pod that it is for (the history, if for none).
 * ARGV: token, the leader's lease, a pod's lease, how long all is kept, how much history is kept, free, how much is taken at once,
 * what the names of pods' permits begin with, after how long a missing pod is gone, how many to forget, how many events; those to
 * forget; and of each event: its pod or '', its text, how many permits, these.
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

/** A pod goes. KEYS: leader, pods, told, its permits. ARGV: pod, token, how long all is kept, events. */
export const LEAVE = `
for i = 4, #ARGV do redis.call('RPUSH', KEYS[3], ARGV[i]) end
if #ARGV > 3 then redis.call('PEXPIRE', KEYS[3], ARGV[3]) end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('DEL', KEYS[4])
if redis.call('GET', KEYS[1]) == ARGV[2] then redis.call('DEL', KEYS[1]) end
return 1`;

/** Tries every command of the other scripts on a key that nobody uses, so that a missing right shows before anything is sent. KEYS: a key of the quota. */
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
