/** The messages between pods that share a quota, through a store. */
import type { PlanWindow } from '../../../client/quota/quota-reading.ts';

export type QuotaEvent =
  /**
   * A pod joins, or joins again. `apart`: its calls of the last minute without a grant. `has`: granted permits that it holds or has in
   * flight.
   */
  | { readonly kind: 'join'; readonly pod: string; readonly apart: readonly SoloCall[]; readonly has: readonly string[] }
  /** A call was answered or has failed. `waitMs`: the wait that a throttled answer asks for. `ownMs`: from its sending to its answer. */
  | {
      readonly kind: 'answer';
      readonly id: string;
      readonly plan: PlanWindow | null;
      readonly throttled: boolean;
      readonly waitMs: number | null;
      readonly failed: boolean;
      readonly ownMs: number;
    }
  /** Permits that will not be used. */
  | { readonly kind: 'unsent'; readonly ids: readonly string[] }
  /** From the coordinator: a pod may start these calls. */
  | Grant
  /** From the coordinator: a new account begins, with this many calls spent within the last minute at unknown times. */
  | { readonly kind: 'fresh'; readonly spent: number }
  /**
   * From the coordinator: some pods are missing and may go on alone. Until they are back, the others have this part of the plan, 0 < of <
   * 1.
   */
  | { readonly kind: 'part'; readonly of: number; readonly without: readonly string[] };

/** A call without a grant: how long ago it was sent and answered, milliseconds. */
export type SoloCall = readonly [sentAgoMs: number, answeredAgoMs: number];

export interface Grant {
  readonly kind: 'grant';
  readonly pod: string;
  readonly ids: readonly string[];
}

/** An event and the store's time at which it arrived, milliseconds. */
export interface StampedEvent {
  readonly atMs: number;
  readonly event: QuotaEvent;
}

export interface PodDemand {
  readonly pod: string;
  /** Permits that it could use at once, besides those on their way to it. */
  readonly want: number;
  /** Permits in hand, and calls that were sent and are not answered. */
  readonly inFlight: number;
  /** Calls that a window of a minute may still hold. */
  readonly spent: number;
}

/** A pod that sends no turns: it has ended, or goes on alone. */
export interface MissingPod {
  readonly pod: string;
  /** The part of the plan that it had when it was last heard. */
  readonly share: number;
}

/** A pod's message at each turn. `token`: the token with which it would coordinate. */
export interface PodTurn extends PodDemand {
  readonly token: string;
  readonly events: readonly QuotaEvent[];
}

export interface PodTurnReply {
  /** The store's clock. */
  readonly nowMs: number;
  /** The coordinator's token. */
  readonly leader: string;
  /** The part of the plan that this pod has when it goes on alone, 0 < share <= 1: an equal share of what the missing pods leave. */
  readonly share: number;
  /** Calls of all pods that a window of a minute may still hold. */
  readonly spent: number;
  /** When calls may start again, as the coordinator knows it; 0 for now or unknown. */
  readonly freeAtMs: number;
  readonly grants: readonly { readonly id: string; readonly atMs: number }[];
}

/** The coordinator's message. `events`: its own. `forget`: missing pods that have ended, or are assumed to. */
export interface CoordinatorTurn {
  readonly token: string;
  readonly events: readonly QuotaEvent[];
  readonly freeAtMs: number;
  readonly forget: readonly string[];
}

export interface CoordinatorReply {
  readonly nowMs: number;
  readonly pods: readonly PodDemand[];
  readonly missing: readonly MissingPod[];
  /** The events of pods since the last turn. */
  readonly events: readonly QuotaEvent[];
}

/** The store where pods meet: Redis. Every call settles within a second or two, and rejects when the store cannot be reached. */
export interface QuotaStore {
  turn(turn: PodTurn): Promise<PodTurnReply>;
  /** Hands out granted permits and collects the pods' events. null when another pod coordinates; nothing was done then. */
  lead(turn: CoordinatorTurn): Promise<CoordinatorReply | null>;
  /** Recent events in order, for a new coordinator. */
  history(): Promise<readonly StampedEvent[]>;
  /** A pod leaves. If it coordinated, another pod may do so at once. */
  leave(pod: string, token: string, events: readonly QuotaEvent[]): Promise<void>;
  close(): void;
}

/** How long a granted permit may be used. Then it goes back. */
export const PERMIT_LEASE_MS = 1_000;
/** A pod that sends no turn for this long is missing. */
export const POD_LEASE_MS = 4_000;
/** A pod that is missing for this long has ended. If it goes on alone all the same, it counts as another client. */
export const FORGET_POD_MS = 600_000;
/** The present pods' part when the missing pods had the whole plan: enough to observe, sooner or later, whether any of them uses it. */
export const MIN_PART = 0.02;

/** The present pods' part of the plan. The missing pods keep their parts, because they may go on alone. */
export function partLeftBy(missing: readonly MissingPod[]): number {
  return Math.max(
    MIN_PART,
    missing.reduce((left, { share }) => left - share, 1),
  );
}

/**
 * A coordinator that is silent for this long is replaced. Longer than a permit's lease: when the next one starts, no unknown permit is
 * unused.
 */
export const COORDINATOR_LEASE_MS = 3_000;
