/**
 * Services with every kind of limiter, other clients, clocks and networks, in virtual time: an event queue, no timers.
 * The model under test sees only what a client sees: its own requests, and answers with their headers.
 */
import { toRateReading } from '../../src/limiter/inference/rate-reading.ts';
import { ResetUnit } from '../../src/limiter/inference/reset-unit.ts';
import { Bucket, Counter, Fixed, Gcra, MINUTE, mostInAMinute, Sliding, type Kind, type Limited } from './services.ts';
import { answerOf, modelOf, planOf } from './virtual.ts';

export type Unit = 'delta s' | 'delta ms' | 'epoch s' | 'epoch ms' | 'http date';
export type HeaderFault = 'none' | 'missing' | 'absurd' | 'stuck' | 'stop';

export interface Scenario {
  readonly seed: number;
  readonly kind: Kind;
  /** Size of a bucket or of a GCRA burst: a complete minute's quota, a tenth of it, or one. */
  readonly burst: 'whole' | 'tenth' | 'none';
  readonly rpm: number;
  readonly unit: Unit;
  /** The shortest latency and what comes on top of it, at random; the share of each before the service decides. */
  readonly latencyMs: number;
  readonly jitterMs: number;
  readonly before: number;
  /** Error of the service's clock, ms. */
  readonly clockMs: number;
  /** Share of the quota that the neighbour asks for. */
  readonly neighbour: number;
  readonly bursts: boolean;
  readonly faults: HeaderFault;
  /** Share of the calls that are never answered and fail after half a minute; half of them never reach the service. */
  readonly hung: number;
  /** The Retry-After of a 429 ends with the next permit, or with all of them. */
  readonly retryAfter: 'permit' | 'restored';
  /** How long two grants are apart at least, as the gate takes it. */
  readonly gateMs: number;
  /** How late a timer may fire. */
  readonly lateMs: number;
}

export interface Outcome {
  readonly admitted: number;
  /**
   * Used share of the available permits: those that no other client took, with the growth of a bucket, without those that lapsed during
   * the pause of a 429.
   */
  readonly available: number;
  readonly share: number;
  /** Share of the time for which 429s had asked us to wait. */
  readonly paused: number;
  /** 429s that we caused, and others. */
  readonly ours: number;
  readonly theirs: number;
  readonly firstOurs: string;
  /** Most of our sends in any minute. */
  readonly worstMinute: number;
}

export const WINDOWS = 10;
/** Time limit of a call that hangs. */
const TIMEOUT_MS = 30_000;
const END = WINDOWS * MINUTE;
export const EPOCH = Date.UTC(2036, 6, 15, 12);

/** mulberry32 */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export function serviceOf(s: Scenario, random: () => number): Limited {
  const size = s.burst === 'whole' ? s.rpm : s.burst === 'tenth' ? Math.max(1, Math.floor(s.rpm / 10)) : 1;
  switch (s.kind) {
    case 'fixed':
      return new Fixed(s.rpm, random() * MINUTE);
    case 'sliding':
      return new Sliding(s.rpm, random() < 0.5);
    case 'counter':
      return new Counter(s.rpm, random() * MINUTE);
    case 'bucket':
      return new Bucket(s.rpm, size);
    case 'gcra':
      return new Gcra(s.rpm, size);
    default:
      return s.kind satisfies never;
  }
}

export function headersOf(s: Scenario, service: Limited, t: number, random: () => number): Record<string, string> {
  const clock = EPOCH + t + s.clockMs;
  const date = new Date(clock).toUTCString();
  if (s.faults === 'missing' || (s.faults === 'stop' && t > END / 2)) return { date };
  if (s.faults === 'absurd') {
    const nonsense = ['-7', '1e9', 'lots', '99999999999999', '', 'NaN', '0x10'];
    const any = (): string => nonsense[Math.floor(random() * nonsense.length)] as string;
    return { date, 'x-ratelimit-limit': '1e3', 'x-ratelimit-remaining': any() === '' ? '' : 'NaN', 'x-ratelimit-reset': any() };
  }
  const ms = service.resetMs(t);
  const at = clock + ms;
  const reset = {
    'delta s': String(Math.ceil(ms / 1_000)),
    'delta ms': String(Math.ceil(ms)),
    'epoch s': String(Math.ceil(at / 1_000)),
    'epoch ms': String(Math.ceil(at)),
    'http date': new Date(Math.ceil(at / 1_000) * 1_000).toUTCString(),
  }[s.unit];
  return {
    date,
    'x-ratelimit-limit': String(s.rpm),
    'x-ratelimit-remaining': String(s.faults === 'stuck' ? s.rpm - 1 : service.remaining(t)),
    'x-ratelimit-reset': reset,
  };
}

/** A binary heap of events by time, then by order of arrival. */
export class Events {
  readonly #heap: { at: number; n: number; run: () => void }[] = [];
  #n = 0;
  push(at: number, run: () => void): void {
    const heap = this.#heap;
    const event = { at, n: this.#n++, run };
    let i = heap.push(event) - 1;
    while (i > 0) {
      const parent = (i - 1) >> 1;
      if (!before(event, heap[parent] as typeof event)) break;
      heap[i] = heap[parent] as typeof event;
      i = parent;
    }
    heap[i] = event;
  }
  pop(): { at: number; run: () => void } | undefined {
    const heap = this.#heap;
    const top = heap[0];
    const last = heap.pop();
    if (top === undefined || last === undefined || heap.length === 0) return top;
    let i = 0;
    for (;;) {
      let child = 2 * i + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && before(heap[child + 1] as typeof last, heap[child] as typeof last)) child++;
      if (!before(heap[child] as typeof last, last)) break;
      heap[i] = heap[child] as typeof last;
      i = child;
    }
    heap[i] = last;
    return top;
  }
}

function before(a: { at: number; n: number }, b: { at: number; n: number }): boolean {
  return a.at === b.at ? a.n < b.n : a.at < b.at;
}

/** Runs ten windows with lookups always ready. */
export function simulate(s: Scenario): Outcome {
  const random = randomFrom(s.seed);
  const service = serviceOf(s, random);
  const model = modelOf(s.rpm);
  const unit = new ResetUnit(s.rpm);
  const events = new Events();
  const counted = { admitted: 0, ours: 0, theirs: 0, firstOurs: '' };
  const sends: number[] = [];
  let now = 0;
  let pausedUntil = 0;
  let timerAt = Infinity;
  let gateAt = 0;
  /** Lapsed and held permits at the start of the pause, and lapsed permits of earlier pauses. */
  let pause: { readonly fromMs: number; readonly lapsed: number; readonly held: number } | null = null;
  const inPauses = { ms: 0, lapsed: 0 };
  const endPause = (): void => {
    if (pause === null) return;
    inPauses.ms += Math.max(0, now - Math.max(MINUTE, pause.fromMs));
    inPauses.lapsed += service.lapsed(now) - pause.lapsed;
    pause = null;
  };
  /** The neighbour's permits, and our own 429s: when the service decided. */
  const neighbour: number[] = [];
  const refused: number[] = [];
  /** The latest decision that we have been told, and how many permits it left. */
  let toldUpTo = -1;
  let toldLeft = 0;
  let inFlight = 0;

  const neighbourTakes = (): void => {
    if (service.take(now)) neighbour.push(now);
  };
  if (s.neighbour > 0) {
    const each = MINUTE / (s.rpm * s.neighbour);
    const size = s.bursts ? Math.max(1, Math.round(s.rpm * s.neighbour * 0.2)) : 1;
    const round = (): void => {
      for (let i = 0; i < size; i++) neighbourTakes();
      events.push(now + each * size, round);
    };
    events.push(random() * each * size, round);
  }

  const send = (): void => {
    const callNumber = model.sent(now);
    const sentAt = now;
    const told = toldUpTo;
    const leftByHeaders = toldLeft - inFlight++;
    sends.push(now);
    const there = s.before * s.latencyMs + random() * s.before * s.jitterMs;
    const back = (1 - s.before) * s.latencyMs + random() * (1 - s.before) * s.jitterMs;
    const hangs = s.hung > 0 && random() < s.hung;
    if (hangs) {
      events.push(now + TIMEOUT_MS, () => {
        inFlight--;
        model.answered(answerOf(callNumber, now, null, false, null, true));
        serve();
      });
      if (random() < 0.5) return;
    }
    events.push(now + there, () => {
      const decidedAt = now;
      const ok = service.take(now);
      if (ok) {
        if (decidedAt > MINUTE) counted.admitted++;
      } else {
        const unseen = countAfter(neighbour, told);
        const explained = countAfter(refused, told);
        refused.push(now);
        // Guarantee 3; without a neighbour there is nothing that we could not have known.
        if (callNumber === 1 || explained < unseen || (s.neighbour > 0 && leftByHeaders >= 1)) counted.theirs++;
        else {
          counted.ours++;
          if (counted.firstOurs === '')
            counted.firstOurs = `call ${callNumber} sent ${sentAt.toFixed(1)} decided ${decidedAt.toFixed(1)} told ${told.toFixed(1)}`;
        }
      }
      if (hangs) return;
      const left = service.remaining(now);
      const headers = headersOf(s, service, now, random);
      const retryAfterMs = ok
        ? null
        : Math.max(
            1_000,
            Math.ceil(Math.min(MINUTE, s.retryAfter === 'permit' ? service.nextMs(now) : service.resetMs(now)) / 1_000) * 1_000,
          );
      events.push(now + back, () => {
        inFlight--;
        const stated = planOf(headers, EPOCH + now);
        const reading = toRateReading(stated, unit.read(stated, now));
        if (decidedAt > toldUpTo && reading.remaining !== null) [toldUpTo, toldLeft] = [decidedAt, left];
        model.answered(answerOf(callNumber, now, reading, !ok, retryAfterMs));
        if (retryAfterMs !== null) {
          pausedUntil = Math.max(pausedUntil, now + retryAfterMs);
          pause ??= { fromMs: now, lapsed: service.lapsed(now), held: service.held(now) };
        }
        serve();
      });
    });
  };
  const serve = (): void => {
    if (now >= pausedUntil) endPause();
    for (;;) {
      if (now < pausedUntil || now < gateAt || model.permits(now).permits < 1) break;
      send();
      gateAt = now + s.gateMs;
    }
    const next = now < pausedUntil ? pausedUntil : now < gateAt ? gateAt : Math.max(model.permits(now).atMs, now);
    if (next === Infinity || (next >= timerAt && timerAt > now)) return;
    timerAt = next + random() * s.lateMs;
    const at = timerAt;
    events.push(at, () => {
      if (timerAt === at) timerAt = Infinity;
      serve();
    });
  };
  events.push(0, serve);
  let heldAtFirst = 0;
  events.push(MINUTE, () => {
    heldAtFirst = service.held(MINUTE);
  });
  let guard = 0;
  for (let event = events.pop(); event !== undefined && event.at < END; event = events.pop()) {
    if (event.at === now && ++guard > 200_000) throw new Error(`time stands still at ${now}: ${JSON.stringify(s)}`);
    if (event.at !== now) guard = 0;
    now = event.at;
    event.run();
  }
  now = END;
  // Permits that come back during the pause of a 429 are not available.
  const heldAtLast = pause === null ? service.held(END) : (pause as { readonly held: number }).held;
  endPause();
  const available = counted.admitted + service.lapsed(END) - inPauses.lapsed + Math.max(0, heldAtLast - heldAtFirst);
  return {
    ...counted,
    available,
    share: available <= 0 ? 1 : counted.admitted / available,
    paused: inPauses.ms / (END - MINUTE),
    worstMinute: mostInAMinute(sends),
  };
}

function countAfter(times: readonly number[], after: number): number {
  let count = 0;
  for (let i = times.length - 1; i >= 0 && (times[i] as number) > after; i--) count++;
  return count;
}
