/**
 * A vendor with several windows at once, in its own process: a fixed answer after 40 to 80 ms, behind limiters in real time that start with
 * the first request. GET /__log returns its log. Argument: the vendor, as JSON. Prints its address.
 */
import { createServer } from 'node:http';
import { seeded } from '../../test/support/leads.ts';
import { limitersOf, type VendorLog, type WindowedVendor } from './windowed-log.ts';

const LATENCY_MS = 40;
const JITTER_MS = 40;

const vendor = JSON.parse(process.argv[2] ?? '') as WindowedVendor;
const limiters = limitersOf(vendor);
const random = seeded(vendor.seed);
const log: VendorLog[number][] = [];
let startedMs: number | null = null;

const server = createServer((request, response) => {
  if (request.url === '/__log') {
    response.end(JSON.stringify({ elapsedMs: startedMs === null ? 0 : performance.now() - startedMs, log }));
    return;
  }
  const nowMs = performance.now();
  startedMs ??= nowMs;
  const atMs = nowMs - startedMs;
  const full = limiters.findIndex((limiter) => limiter.nextMs(atMs) > 0);
  if (full === -1) for (const limiter of limiters) limiter.take(atMs);
  log.push([atMs, full === -1 ? null : full]);
  const headers: Record<string, string> = { 'content-type': 'application/json' };
  if (vendor.hasHeaders) {
    for (const [index, { name, limit }] of vendor.windows.entries()) {
      headers[`x-ratelimit-limit-${name}`] = String(limit);
      headers[`x-ratelimit-remaining-${name}`] = String(limiters[index]?.remaining(atMs) ?? 0);
    }
  }
  if (full !== -1) headers['retry-after'] = String(Math.ceil(Math.max(1, limiters[full]?.nextMs(atMs) ?? 0) / 1_000));
  const email = new URL(request.url ?? '', 'http://vendor.example').searchParams.get('email');
  const [status, body] = full !== -1 ? [429, {}] : vendor.knows ? [200, { person: { email, name: 'Ada Example' } }] : [404, {}];
  request.resume();
  // Services refuse before they do any work.
  setTimeout(() => response.writeHead(status, headers).end(JSON.stringify(body)), status === 429 ? 1 : LATENCY_MS + random() * JITTER_MS);
});
server.keepAliveTimeout = 120_000;
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}` })}\n`);
});
