import { expect, test } from 'vitest';
import { Eta } from '../../../src/job/progress/eta.ts';

const TICK_MS = 50;
const LOOK_MS = 200;
/** Smaller errors do not count, because an ETA is shown in whole seconds. */
const TOLERANCE_MS = 2_500;
const MINUTE_MS = 60_000;

interface Shape {
  readonly records: number;
  /** Requests a minute; null: unlimited. */
  readonly rpm: number | null;
  readonly quota: 'bucket' | 'empty bucket' | 'fixed' | 'sliding' | 'even';
  readonly latencyMs: number;
  readonly atOnce: number;
  /** True when the record of this number is in the ledger. */
  readonly known?: (record: number) => boolean;
  /** The time of a verify request, milliseconds. */
  readonly verifyMs?: number;
  readonly outage?: { readonly fromMs: number; readonly forMs: number };
  /** Another client takes every second permit. */
  readonly neighbour?: true;
}

interface Look {
  readonly atMs: number;
  readonly etaMs: number | null;
  readonly heldUp: boolean;
}

/** A run in small steps of time: a reader that goes ahead a little, calls that wait for permits, requests of a thousand addresses. */
function simulate(shape: Shape): { looks: Look[]; endMs: number } {
  const { records, rpm, quota, latencyMs, atOnce, known = () => false, verifyMs = null, outage } = shape;
  const eta = new Eta(rpm);
  const looks: Look[] = [];
  const rate = rpm ?? Infinity;
  let [started, queued, sent, written, toVerify, tokens, windowUsed, even] = [0, 0, 0, 0, 0, quota === 'bucket' ? rate : 0, 0, 0];
  let flying: { untilMs: number; rows: number; verify: boolean }[] = [];
  let lastVerifyMs = 0;
  let verifyLatency = 0;
  const sentAt: number[] = [];
  const permits = (nowMs: number): number => {
    if (rpm === null) return Infinity;
    if (quota === 'fixed') return rate - windowUsed;
    if (quota === 'sliding') return rate - sentAt.filter((at) => at > nowMs - MINUTE_MS).length;
    if (quota === 'even') return nowMs >= even ? 1 : 0;
    return Math.floor(tokens);
  };
  const take = (nowMs: number): void => {
    sent++;
    sentAt.push(nowMs);
    windowUsed++;
    tokens -= shape.neighbour === undefined ? 1 : 2;
    even = Math.max(even, nowMs - TICK_MS) + MINUTE_MS / rate;
  };
  for (let nowMs = 0; written < records; nowMs += TICK_MS) {
    if (nowMs > 4 * 3_600_000) throw new Error('it does not end');
    const down = outage !== undefined && nowMs >= outage.fromMs && nowMs < outage.fromMs + outage.forMs;
    tokens = Math.min(rate, tokens + (rate * TICK_MS) / MINUTE_MS);
    if (nowMs % MINUTE_MS === 0) windowUsed = 0;
    for (const call of flying.filter(({ untilMs }) => untilMs <= nowMs)) {
      if (call.verify) verifyLatency = verifyMs ?? 0;
      if (call.verify || verifyMs === null) written += call.rows;
      else toVerify += call.rows;
    }
    flying = flying.filter(({ untilMs }) => untilMs > nowMs);
    const most = down ? 0 : atOnce;
    while (started < records && queued < 2 * most && started - written < 16_384) {
      if (!known(started++)) queued++;
      else if (verifyMs === null) written++;
      else toVerify++;
    }
    while (flying.length < most && permits(nowMs) >= 1) {
      const calling = flying.some(({ verify }) => !verify);
      const rows = toVerify >= 1_000 ? 1_000 : started === records && queued === 0 && !calling ? toVerify : 0;
      if (rows > 0) {
        toVerify -= rows;
        lastVerifyMs = nowMs;
        flying.push({ untilMs: nowMs + (verifyMs ?? 0), rows, verify: true });
      } else if (queued > 0) {
        queued--;
        flying.push({ untilMs: nowMs + latencyMs, rows: 1, verify: false });
      } else break;
      take(nowMs);
    }
    if (nowMs % LOOK_MS !== 0) continue;
    const waitMs =
      permits(nowMs) >= 1
        ? 0
        : quota === 'fixed'
          ? MINUTE_MS - (nowMs % MINUTE_MS)
          : quota === 'sliding'
            ? (sentAt[sentAt.length - rate] ?? nowMs) + MINUTE_MS - nowMs
            : 0;
    const inFlight = flying.filter(({ verify }) => verify).length;
    const etaMs = eta.look({
      nowMs,
      heldUpMs: down ? 0 : null,
      quotaWaitMs: waitMs >= 1_000 ? waitMs : 0,
      burstLeft: rpm === null || quota === 'even' ? 0 : Math.max(0, permits(nowMs)),
      sent,
      queued,
      started,
      left: records - started,
      unwritten: records - written,
      verify: verifyMs === null ? null : { inFlight, latencyMs: verifyLatency, lastSentMs: lastVerifyMs },
    });
    looks.push({ atMs: nowMs, etaMs, heldUp: down });
  }
  return { looks, endMs: (looks.at(-1)?.atMs ?? 0) + LOOK_MS };
}

const SAMPLE: Shape = { records: 1_562, rpm: 1_000, quota: 'bucket', latencyMs: 20, atOnce: 20, verifyMs: 300 };

const SHAPES: Readonly<Record<string, Shape>> = {
  'the sample job: a burst, then the pace of the quota': SAMPLE,
  'a long run behind a burst': { ...SAMPLE, records: 12_000 },
  'a key that was just used': { ...SAMPLE, quota: 'empty bucket', records: 3_000 },
  'no burst at all': { ...SAMPLE, quota: 'even', records: 3_000 },
  'a fixed window': { ...SAMPLE, quota: 'fixed', records: 5_300 },
  'a fixed window that is nearly enough': { ...SAMPLE, quota: 'fixed', records: 1_950 },
  'a sliding window': { ...SAMPLE, quota: 'sliding', records: 4_500 },
  'an unlimited plan': { ...SAMPLE, rpm: null, records: 60_000 },
  'a slow service on an unlimited plan': { ...SAMPLE, rpm: null, records: 3_000, latencyMs: 400, atOnce: 8 },
  'slow requests to verify': { ...SAMPLE, rpm: null, records: 30_000, verifyMs: 8_000 },
  'without verify': { records: 8_000, rpm: 1_000, quota: 'bucket', latencyMs: 50, atOnce: 16 },
  'a first third that is in the ledger': { ...SAMPLE, records: 6_000, known: (record) => record < 2_000 },
  'two of three records in the ledger, here and there': { ...SAMPLE, records: 9_000, known: (record) => record % 3 !== 0 },
  'an outage half-way': { ...SAMPLE, records: 4_000, outage: { fromMs: 60_000, forMs: 90_000 } },
  'an outage at the start': { ...SAMPLE, records: 4_000, outage: { fromMs: 1_000, forMs: 60_000 } },
  'a neighbour who takes half of the quota': { ...SAMPLE, records: 3_000, quota: 'empty bucket', neighbour: true },
};

test.each(Object.entries(SHAPES))('the ETA with %s is within a factor of two from a tenth of the run on', (_name, shape) => {
  const { looks, endMs } = simulate(shape);
  // The length of an outage is unknown before it is over.
  const over = shape.outage === undefined ? 0 : shape.outage.fromMs + shape.outage.forMs + LOOK_MS;
  const judged = looks.filter(({ atMs, heldUp }) => atMs >= endMs / 10 && atMs >= over && !heldUp);
  expect(judged.length).toBeGreaterThan(20);
  const wrong = judged.flatMap(({ atMs, etaMs }) => {
    const leftMs = endMs - atMs;
    const fits = etaMs !== null && etaMs <= 2 * leftMs + TOLERANCE_MS && etaMs >= leftMs / 2 - TOLERANCE_MS;
    return fits ? [] : [`at ${atMs / 1_000} s of ${endMs / 1_000} s: ${etaMs === null ? 'none' : etaMs / 1_000} s`];
  });
  expect(wrong).toEqual([]);
});

test('the ETA during a used-up short window is the wait plus the time for the rest at the permitted rate', () => {
  const eta = new Eta(180);
  const reading = { heldUpMs: null, burstLeft: 0, queued: 0, verify: null };
  eta.look({ ...reading, nowMs: 0, quotaWaitMs: 0, sent: 0, started: 0, left: 150, unwritten: 150 });
  // 60 of 150 requests went in two seconds; the window of 20 s gives no more.
  const etaMs = eta.look({ ...reading, nowMs: 2_000, quotaWaitMs: 18_000, sent: 60, queued: 4, started: 64, left: 86, unwritten: 90 }) ?? 0;
  expect(etaMs).toBeGreaterThan(45_000);
  expect(etaMs).toBeLessThan(51_000);
});
