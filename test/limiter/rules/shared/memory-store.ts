/** The store of a shared quota in memory: what the Redis scripts do, at the test's own time. */
import {
  COORDINATOR_LEASE_MS,
  FORGET_POD_MS,
  partLeftBy,
  POD_LEASE_MS,
  type CoordinatorReply,
  type CoordinatorTurn,
  type PodDemand,
  type QuotaEvent,
  type StampedEvent,
  type PodTurn,
  type PodTurnReply,
} from '../../../../src/limiter/rules/shared/messages.ts';

/**
 * A pod's name ends in a dot and a random id of the run. The part before it names the workload: the next run of the same workload takes the
 * place of a missing pod.
 */
export const workloadOf = (pod: string): string => pod.slice(0, Math.max(0, pod.lastIndexOf('.')));

export class MemoryStore {
  readonly #now: () => number;
  #leader: { readonly token: string; readonly untilMs: number } | null = null;
  #freeAtMs = 0;
  #pods = new Map<string, PodDemand & { readonly seenMs: number; readonly share: number }>();
  #inbox: QuotaEvent[] = [];
  #log: StampedEvent[] = [];
  #grants = new Map<string, { readonly id: string; readonly atMs: number }[]>();

  /** @param now milliseconds */
  constructor(now: () => number) {
    this.#now = now;
  }

  turn({ token, events, ...state }: PodTurn): PodTurnReply {
    const nowMs = this.#now();
    const { pod } = state;
    const led = this.#leader !== null && this.#leader.untilMs > nowMs;
    if (!led || (this.#leader?.token !== token && this.#leader?.token.startsWith(`${pod}~`) === true))
      this.#leader = { token, untilMs: nowMs + COORDINATOR_LEASE_MS };
    const grants = this.#grants.get(pod) ?? [];
    this.#grants.delete(pod);
    const others = [...this.#pods.values()].filter((other) => other.pod !== pod);
    const missing = others.filter(({ seenMs }) => seenMs + POD_LEASE_MS < nowMs);
    const there = 1 + others.length - missing.length;
    const share = partLeftBy(missing) / there;
    this.#pods.set(pod, {
      ...state,
      want: Math.max(0, state.want - grants.length),
      inFlight: state.inFlight + grants.length,
      seenMs: nowMs,
      share,
    });
    this.#inbox.push(...events);
    const spent = others.reduce((sum, other) => sum + (other.seenMs + 60_000 > nowMs ? other.spent : 0), state.spent);
    return { nowMs, leader: this.#leader?.token ?? '', share, spent, freeAtMs: this.#freeAtMs, grants };
  }

  lead({ token, events, freeAtMs, forget }: CoordinatorTurn): CoordinatorReply | null {
    const nowMs = this.#now();
    if (this.#leader === null || this.#leader.token !== token || this.#leader.untilMs <= nowMs) return null;
    this.#leader = { token, untilMs: nowMs + COORDINATOR_LEASE_MS };
    this.#freeAtMs = freeAtMs;
    for (const pod of forget) this.#pods.delete(pod);
    for (const event of events) {
      this.#log.push({ atMs: nowMs, event });
      if (event.kind !== 'grant') continue;
      const waiting = this.#grants.get(event.pod) ?? [];
      this.#grants.set(event.pod, [...waiting, ...event.ids.map((id) => ({ id, atMs: nowMs }))]);
      const state = this.#pods.get(event.pod);
      if (state !== undefined)
        this.#pods.set(event.pod, {
          ...state,
          want: Math.max(0, state.want - event.ids.length),
          inFlight: state.inFlight + event.ids.length,
        });
    }
    const told = this.#inbox;
    this.#inbox = [];
    this.#log.push(...told.map((event) => ({ atMs: nowMs, event })));
    const isThere = ({ seenMs }: { readonly seenMs: number }): boolean => seenMs + POD_LEASE_MS >= nowMs;
    const there = [...this.#pods.values()].filter(isThere);
    for (const missing of [...this.#pods.values()].filter((state) => !isThere(state))) {
      this.#grants.delete(missing.pod);
      const place = workloadOf(missing.pod);
      if (missing.seenMs + FORGET_POD_MS < nowMs || (place !== '' && there.some(({ pod }) => workloadOf(pod) === place)))
        this.#pods.delete(missing.pod);
    }
    const states = [...this.#pods.values()];
    return {
      nowMs,
      pods: there.map(({ pod, want, inFlight, spent }) => ({ pod, want, inFlight, spent })),
      missing: states.filter((state) => !isThere(state)).map(({ pod, share }) => ({ pod, share })),
      events: told,
    };
  }

  history(): readonly StampedEvent[] {
    return [...this.#log];
  }

  leave(pod: string, token: string, events: readonly QuotaEvent[]): void {
    this.#inbox.push(...events);
    this.#pods.delete(pod);
    this.#grants.delete(pod);
    if (this.#leader?.token === token) this.#leader = null;
  }

  /** As after a restart without its data. */
  forget(): void {
    this.#leader = null;
    this.#pods.clear();
    this.#inbox = [];
    this.#log = [];
    this.#grants.clear();
    this.#freeAtMs = 0;
  }
}
