/**
 * What happens in Redis, each script at once and whole. Needs Redis 5: earlier ones do not let a script write what depends on
 * the time. All keys of one quota lie in one slot.
 */

/** Every clock of a shared quota is Redis' own. */
const NOW = `
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))`;

/**
 * A pod's turn. Leads, if nobody does, or if it led itself and lost its way.
 * KEYS: leader, pods, told, this pod's permits, free. ARGV: pod, token, want, in flight, spent, the leader's lease, how long all is kept, how much is told at most, events.
 * A pod's state is "seen want inFlight spent".
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
redis.call('HSET', KEYS[2], pod, table.concat({ now, math.max(0, ARGV[3] - #grants), ARGV[4] + #grants, ARGV[5] }, ' '))
redis.call('PEXPIRE', KEYS[2], ARGV[7])
for i = 9, #ARGV do redis.call('RPUSH', KEYS[3], ARGV[i]) end
if #ARGV > 8 then
  redis.call('LTRIM', KEYS[3], -ARGV[8], -1)
  redis.call('PEXPIRE', KEYS[3], ARGV[7])
end
local states = redis.call('HVALS', KEYS[2])
local spent = 0
for _, state in ipairs(states) do spent = spent + tonumber(string.match(state, '%S+$')) end
return { now, leader, #states, spent, redis.call('GET', KEYS[5]) or '0', grants }`;

/**
 * The leader's turn; false: somebody else leads. What it says is done, what pods told is noted and handed over.
 * KEYS: leader, pods, told, history, free, and of each event the permits of the pod that it is for (the history, if for none).
 * ARGV: token, the leader's lease, a pod's lease, how long all is kept, how much history is kept, free, how much is taken at once,
 * what the names of pods' permits begin with, how many events, and of each: its pod or '', its text, how many permits, these.
 */
export const LEAD = `${NOW}
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return false end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
redis.call('SET', KEYS[5], ARGV[6], 'PX', ARGV[4])
local at = 10
for event = 1, tonumber(ARGV[9]) do
  local pod, text, count = ARGV[at], ARGV[at + 1], tonumber(ARGV[at + 2])
  redis.call('RPUSH', KEYS[4], now .. ' ' .. text)
  for i = at + 3, at + 2 + count do redis.call('RPUSH', KEYS[5 + event], ARGV[i] .. ' ' .. now) end
  if count > 0 then
    redis.call('PEXPIRE', KEYS[5 + event], ARGV[3])
    local state = redis.call('HGET', KEYS[2], pod)
    if state then
      local seen, want, flying, spent = string.match(state, '(%S+) (%S+) (%S+) (%S+)')
      redis.call('HSET', KEYS[2], pod, table.concat({ seen, math.max(0, want - count), flying + count, spent }, ' '))
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
local there = {}
for i = 1, #pods, 2 do
  if tonumber(string.match(pods[i + 1], '%S+')) + ARGV[3] < tonumber(now) then
    redis.call('HDEL', KEYS[2], pods[i])
    redis.call('DEL', ARGV[8] .. pods[i])
  else
    there[#there + 1] = pods[i]
    there[#there + 1] = pods[i + 1]
  end
end
return { now, there, told }`;

/** A pod goes. KEYS: leader, pods, told, its permits. ARGV: pod, token, how long all is kept, events. */
export const LEAVE = `
for i = 4, #ARGV do redis.call('RPUSH', KEYS[3], ARGV[i]) end
if #ARGV > 3 then redis.call('PEXPIRE', KEYS[3], ARGV[3]) end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('DEL', KEYS[4])
if redis.call('GET', KEYS[1]) == ARGV[2] then redis.call('DEL', KEYS[1]) end
return 1`;
