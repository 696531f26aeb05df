/**
 * Pods that share one quota, in virtual time: each runs the real `SharedQuota` over a store with latency, and both they and the
 * store can be taken away. They see only what a client of the service sees.
 */
import { toRateReading } from '../../../../src/limiter/inference/rate-reading.ts';
import { ResetUnit } from '../../../../src/limiter/inference/reset-unit.ts';
import type {
  QuotaStore,
  PodTurn,
  PodTurnReply,
  CoordinatorTurn,
  CoordinatorReply,
  StampedEvent,
  QuotaEvent,
} from '../../../../src/limiter/rules/shared/messages.ts';
import { QuotaRules } from '../../../../src/limiter/quota-rules.ts';
import { SharedQuota } from '../../../../src/limiter/rules/shared/shared-quota.ts';
import type { QuotaWindow } from '../../../../src/providers/compiled-provider.ts';
import { MINUTE, mostInAMinute, Sliding } from '../../services.ts';
import { EPOCH, Events, headersOf, randomFrom, serviceOf, type Scenario } from '../../simulator.ts';
import { MemoryStore } from './memory-store.ts';
import { answerOf, planOf } from '../../virtual.ts';

export type Fault =
  /** A pod is no more; another comes in its place, when it says so. */
  | { readonly kind: 'kill'; readonly atMs: number; readonly pod: number; readonly againAfterMs: number | null }
  /** A pod begins only now. */
  | { readonly kind: 'join'; readonly atMs: number; readonly pod: number }
  /** A pod stands still, and goes on. */
  | { readonly kind: 'pause'; readonly atMs: number; readonly pod: number; readonly forMs: number }
  /** These pods do not reach the store; 'all': nobody does. `forgets`: it comes back empty. */
  | {
      readonly kind: 'away';
      readonly atMs: number;
      readonly pods: readonly number[] | 'all';
      readonly forMs: number;
      readonly forgets: boolean;
    };

export interface PodScenario extends Omit<Scenario, 'bursts' | 'hung' | 'gateMs' | 'faults'> {
  readonly pods: number;
  /** As each pod is told. */
  readonly podsAtLeast: number;
  /** One way to the store takes up to so long. */
  readonly storeMs: number;
  readonly happens: readonly Fault[];
  readonly windows: number;
  /** In place of the rate in a minute: a sliding window, which no header states. */
  readonly window: QuotaWindow | null;
}

export interface PodOutcome {
  readonly admitted: number;
  readonly share: number;
  /** Each 429, with its time and pod. */
  readonly refused: readonly { readonly atMs: number; readonly pod: number; readonly why: string }[];
  /** Most of all pods' sends in any minute. */
  readonly worstMinute: number;
  /** Admitted in each minute. */
  readonly minutes: readonly number[];
  /** By pod. */
  readonly byPod: readonly number[];
  /** States that pods have logged. */
  readonly said: readonly string[];
}

const TIMEOUT_MS = 1_000;

interface Pod {
  readonly number: number;
  generation: number;
  quota: QuotaRules | null;
  alive: boolean;
  pausedUntilMs: number;
  waitUntilMs: number;
  inFlight: number;
  unit: ResetUnit;
  timerAt: number;
}

export async function simulatePods(s: PodScenario): Promise<PodOutcome> {
  const endMs = s.windows * MINUTE;
  const random = randomFrom(s.seed);
  const full: Scenario = { ...s, bursts: false, hung: 0, gateMs: 0, faults: 'none' };
  const service = s.window === null ? serviceOf(full, random) : new Sliding(s.window.limit, false, s.window.periodMs);
  const events = new Events();
  let now = 0;
  const store = new MemoryStore(() => EPOCH + now);
  const away = { until: new Map<number, number>() };
  const counted = {
    admitted: 0,
    refused: [] as { atMs: number; pod: number; why: string }[],
    minutes: Array.from({ length: s.windows }, () => 0),
    byPod: Array.from({ length: s.pods }, () => 0),
    said: [] as string[],
  };
  const sends: number[] = [];
  const concurrency = 32 + Math.ceil((2 * s.rpm * (s.latencyMs + s.jitterMs)) / MINUTE);
  const pods: Pod[] = Array.from({ length: s.pods }, (_, number) => ({
    number,
    generation: 0,
    quota: null,
    alive: false,
    pausedUntilMs: 0,
    waitUntilMs: 0,
    inFlight: 0,
    unit: new ResetUnit(),
    timerAt: Infinity,
  }));

  /** Runs a step in a pod while it lives; if it is paused, after the pause. */
  const inPod = (pod: Pod, atMs: number, work: () => void): void => {
    const { generation } = pod;
    const run = (): void => {
      if (!pod.alive || pod.generation !== generation) return;
      if (now < pod.pausedUntilMs) events.push(pod.pausedUntilMs, run);
      else work();
    };
    events.push(atMs, run);
  };

  const storeOf = (pod: Pod): QuotaStore => {
    const call = <T>(work: () => T): Promise<T> =>
      new Promise((resolve, reject) => {
        const sentAt = now;
        const lost = (): boolean => (away.until.get(pod.number) ?? 0) > now;
        const fail = (): void => inPod(pod, sentAt + TIMEOUT_MS, () => reject(new Error('no answer')));
        // A message that has left a pod arrives, even if the pod dies meanwhile.
        events.push(now + random() * s.storeMs, () => {
          if (lost()) return fail();
          const result = work();
          const back = now + random() * s.storeMs;
          events.push(back, () => (lost() ? fail() : inPod(pod, now, () => resolve(result))));
        });
      });
    return {
      turn: (turn: PodTurn): Promise<PodTurnReply> => call(() => store.turn(turn)),
      lead: (turn: CoordinatorTurn): Promise<CoordinatorReply | null> => call(() => store.lead(turn)),
      history: (): Promise<readonly StampedEvent[]> => call(() => store.history()),
      leave: (name: string, token: string, told: readonly QuotaEvent[]): Promise<void> => call(() => store.leave(name, token, told)),
      close: () => undefined,
    };
  };

  const begin = (pod: Pod): void => {
    pod.generation++;
    pod.alive = true;
    pod.inFlight = 0;
    pod.waitUntilMs = 0;
    pod.timerAt = Infinity;
    pod.unit = new ResetUnit();
    const timers = {
      now: () => now,
      after: (ms: number, work: () => void) => {
        let wanted = true;
        inPod(pod, now + ms + random() * s.lateMs, () => wanted && work());
        return () => {
          wanted = false;
        };
      },
    };
    const shared = new SharedQuota({
      store: storeOf(pod),
      pod: `pod${pod.number}.${pod.generation}`,
      rpm: s.window === null ? s.rpm : null,
      windows: s.window === null ? [] : [s.window],
      podsAtLeast: s.podsAtLeast,
      timers,
      onStateChange: (standing, ownRpm) =>
        counted.said.push(`${Math.round(now)} pod ${pod.number}: ${standing}${standing === 'alone' ? ` ${ownRpm}` : ''}`),
    });
    const quota = (pod.quota = new QuotaRules(() => [shared]));
    quota.start({
      waiting: () => (now < pod.waitUntilMs ? 0 : concurrency - pod.inFlight),
      onPermits: () => serve(pod),
    });
  };

  const send = (pod: Pod, quota: QuotaRules): void => {
    const callNumber = quota.sent(now);
    const { generation } = pod;
    const sentAt = now;
    pod.inFlight++;
    sends.push(now);
    const there = s.before * s.latencyMs + random() * s.before * s.jitterMs;
    const back = (1 - s.before) * s.latencyMs + random() * (1 - s.before) * s.jitterMs;
    events.push(now + there, () => {
      const ok = service.take(now);
      if (ok) {
        if (now > MINUTE) counted.admitted++;
        const minute = Math.floor(now / MINUTE);
        counted.minutes[minute] = (counted.minutes[minute] ?? 0) + 1;
        counted.byPod[pod.number] = (counted.byPod[pod.number] ?? 0) + 1;
      } else {
        counted.refused.push({
          atMs: now,
          pod: pod.number,
          why: `sent ${sentAt.toFixed(1)}, decided ${now.toFixed(1)}`,
        });
      }
      const headers = s.window === null ? headersOf(full, service, now, random) : {};
      const retryAfterMs = ok
        ? null
        : Math.max(
            1_000,
            Math.ceil(Math.min(MINUTE, s.retryAfter === 'permit' ? service.nextMs(now) : service.resetMs(now)) / 1_000) * 1_000,
          );
      events.push(now + back, () => {
        if (pod.generation !== generation) return;
        inPod(pod, now, () => {
          pod.inFlight--;
          const plan = planOf(headers, EPOCH + now);
          const reading = toRateReading(plan, pod.unit.read(plan, now));
          quota.answered({ ...answerOf(callNumber, now, reading, !ok, retryAfterMs), plan });
          if (retryAfterMs !== null) pod.waitUntilMs = Math.max(pod.waitUntilMs, now + retryAfterMs);
          serve(pod);
        });
      });
    });
  };

  const serve = (pod: Pod): void => {
    const { quota } = pod;
    if (quota === null) return;
    while (now >= pod.waitUntilMs && pod.inFlight < concurrency && quota.permits(now).permits >= 1) send(pod, quota);
    const next = now < pod.waitUntilMs ? pod.waitUntilMs : Math.max(quota.permits(now).atMs, now);
    if (next === Infinity || pod.inFlight >= concurrency || (next >= pod.timerAt && pod.timerAt > now)) return;
    const at = (pod.timerAt = next + random() * s.lateMs);
    inPod(pod, at, () => {
      if (pod.timerAt === at) pod.timerAt = Infinity;
      serve(pod);
    });
  };

  if (s.neighbour > 0) {
    const each = MINUTE / (s.rpm * s.neighbour);
    const takes = (): void => {
      service.take(now);
      events.push(now + each, takes);
    };
    events.push(random() * each, takes);
  }
  const late = new Set(s.happens.flatMap((fault) => (fault.kind === 'join' ? [fault.pod] : [])));
  for (const pod of pods) if (!late.has(pod.number)) events.push(random() * 100, () => begin(pod));
  for (const fault of s.happens) {
    events.push(fault.atMs, () => {
      switch (fault.kind) {
        case 'kill': {
          const pod = pods[fault.pod] as Pod;
          pod.alive = false;
          pod.quota = null;
          if (fault.againAfterMs !== null) events.push(now + fault.againAfterMs, () => begin(pod));
          return;
        }
        case 'join':
          begin(pods[fault.pod] as Pod);
          return;
        case 'pause':
          (pods[fault.pod] as Pod).pausedUntilMs = now + fault.forMs;
          return;
        case 'away':
          for (const number of fault.pods === 'all' ? pods.keys() : fault.pods) away.until.set(number, now + fault.forMs);
          if (fault.forgets) events.push(now + fault.forMs / 2, () => store.forget());
          return;
        default:
          fault satisfies never;
      }
    });
  }
  let heldAtFirst = 0;
  events.push(MINUTE, () => {
    heldAtFirst = service.held(MINUTE);
  });
  let at = -1;
  let guard = 0;
  for (let event = events.pop(); event !== undefined && event.at < endMs; event = events.pop()) {
    // Promises of one moment are settled before the next.
    if (event.at !== at) await settled();
    guard = event.at === at ? guard + 1 : 0;
    if (guard > 100_000) throw new Error(`time stands still at ${now} ${JSON.stringify(s)}`);
    at = now = event.at;
    event.run();
    await settled();
  }
  now = endMs;
  const available = counted.admitted + service.lapsed(endMs) + Math.max(0, service.held(endMs) - heldAtFirst);
  return { ...counted, share: available <= 0 ? 1 : counted.admitted / available, worstMinute: mostInAMinute(sends) };
}

/** Promises that are settled go through a few others before what waits for them goes on. */
async function settled(): Promise<void> {
  for (let i = 0; i < 12; i++) await Promise.resolve();
}
