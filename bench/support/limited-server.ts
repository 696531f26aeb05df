/**
 * A data service with a quota, in its own process: a fixed answer after 40 to 80 ms, behind a limiter in real time that starts with the
 * first request. GET /__log returns its log. Argument: the limits, as JSON. Prints its address.
 */
import { createServer } from 'node:http';
import { setTimeout as after } from 'node:timers/promises';
import { MINUTE } from '../../test/limiter/services.ts';
import { seeded } from '../../test/support/leads.ts';
import { limiterOf, type Decision, type Limits } from './quota-log.ts';

const LATENCY_MS = 40;
const JITTER_MS = 40;
const PERSON = JSON.stringify({
  email: 'ada@example.com',
  name: 'Ada Example',
  title: 'Engineer',
  company: { name: 'Example Works', employees: 120, revenue: '$12M', stack: ['linux', 'postgres', 'react'] },
  verified: true,
});
const REFUSAL = JSON.stringify({ type: 'about:blank', title: 'Too Many Requests', status: 429, code: 'rate_limited', retryable: true });

const limits = JSON.parse(process.argv[2] ?? '') as Limits;
const limiter = limiterOf(limits);
const random = seeded(limits.seed);
const log: [atMs: number, decision: Decision][] = [];
let startedMs: number | null = null;

function decide(atMs: number, who: '' | 'neighbour '): boolean {
  const admitted = limiter.take(atMs);
  log.push([atMs, `${who}${admitted ? 'admitted' : 'refused'}`]);
  return admitted;
}

/** Another client of the same key. It takes a permit whenever one is due, and catches up after a late timer. */
async function neighbour(startedMs: number): Promise<void> {
  const eachMs = MINUTE / (limits.rpm * limits.neighbour);
  for (let dueMs = random() * eachMs; ;) {
    const nowMs = performance.now() - startedMs;
    for (; dueMs <= nowMs; dueMs += eachMs) decide(nowMs, 'neighbour ');
    await after(dueMs - nowMs);
  }
}

const server = createServer((request, response) => {
  if (request.url === '/__log') {
    response.end(JSON.stringify({ elapsedMs: startedMs === null ? 0 : performance.now() - startedMs, log }));
    return;
  }
  const nowMs = performance.now();
  if (startedMs === null && limits.neighbour > 0) void neighbour(nowMs);
  startedMs ??= nowMs;
  const atMs = nowMs - startedMs;
  const admitted = decide(atMs, '');
  const seconds = (ms: number): string => String(Math.ceil(ms / 1_000));
  const headers = {
    'content-type': admitted ? 'application/json' : 'application/problem+json',
    'x-ratelimit-limit': String(limits.rpm),
    'x-ratelimit-remaining': String(limiter.remaining(atMs)),
    'x-ratelimit-reset': seconds(limiter.resetMs(atMs)),
    ...(admitted ? { 'x-credits-charged': '1' } : { 'retry-after': seconds(Math.max(1, limiter.nextMs(atMs))) }),
  };
  request.resume();
  // Services refuse before they do any work.
  setTimeout(
    () => response.writeHead(admitted ? 200 : 429, headers).end(admitted ? PERSON : REFUSAL),
    admitted ? LATENCY_MS + random() * JITTER_MS : 1,
  );
});
server.keepAliveTimeout = 120_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` })}\n`);
});
