/**
 * A service or vendor whose limiter is like nginx's `limit_req`: a rate, a burst, and no headers about either. In its own process, in real
 * time, with a fixed answer after 40 to 80 ms. GET /__log returns its log. Argument: `Bursty` as JSON. Prints its address.
 */
import { createServer } from 'node:http';
import { Bucket, MINUTE } from '../../test/limiter/services.ts';
import { seeded } from '../../test/support/leads.ts';

export interface Bursty {
  readonly perSecond: number;
  /** Requests that may come at once. */
  readonly burst: number;
  /** The seconds that a refusal states; null when it states none. */
  readonly retryAfter: number | null;
}

/** Milliseconds since the first request, and whether it was refused. */
export type BurstyLog = readonly (readonly [atMs: number, isRefused: boolean])[];

const LATENCY_MS = 40;
const JITTER_MS = 40;
const PERSON = { email: 'ada@example.com', name: 'Ada Example', title: 'Engineer', company: { name: 'Example Works' } };
/** The record is bare, as the specification has it, and where `vendor.yaml` looks for it. */
const ANSWER = JSON.stringify({ ...PERSON, person: { ...PERSON, company: PERSON.company.name } });

if (import.meta.main) {
  const { perSecond, burst, retryAfter } = JSON.parse(process.argv[2] ?? '') as Bursty;
  const bucket = new Bucket((perSecond * MINUTE) / 1_000, burst);
  const random = seeded(burst);
  const log: [atMs: number, isRefused: boolean][] = [];
  let startedMs: number | null = null;
  const server = createServer((request, response) => {
    const nowMs = performance.now();
    if (request.url === '/__log') {
      response.end(JSON.stringify({ elapsedMs: startedMs === null ? 0 : nowMs - startedMs, log }));
      return;
    }
    const atMs = nowMs - (startedMs ??= nowMs);
    const admitted = bucket.take(atMs);
    log.push([atMs, !admitted]);
    request.resume();
    const headers = { 'content-type': 'application/json', ...(admitted || retryAfter === null ? {} : { 'retry-after': `${retryAfter}` }) };
    // Services refuse before they do any work.
    setTimeout(
      () => response.writeHead(admitted ? 200 : 429, headers).end(admitted ? ANSWER : '{}'),
      admitted ? LATENCY_MS + random() * JITTER_MS : 1,
    );
  });
  server.keepAliveTimeout = 120_000;
  server.listen(0, '127.0.0.1', () => {
    const address = server.address();
    process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` })}\n`);
  });
}
