/** What pods that share a quota tell each other through a store. Types only. */
import type { Headers } from '../rate-headers.ts';

/** The names of the headers that a quota is read from. */
export const QUOTA_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'date'] as const;

export type QuotaEvent =
  /** A pod is there, or there again. `apart`: calls that it has sent within the last minute and that were not granted. `has`: what it holds or has in flight of what was granted to it. */
  | { readonly kind: 'join'; readonly pod: string; readonly apart: readonly Apart[]; readonly has: readonly string[] }
  /** A call was answered, or came to nothing. `waitMs`: what a throttled answer asks for. `itselfMs`: from its sending to its answer. */
  | { readonly kind: 'answer'; readonly id: string; readonly headers: Headers; readonly throttled: boolean; readonly waitMs: number | null; readonly failed: boolean; readonly itselfMs: number }
  /** Permits that will not be used. */
  | { readonly kind: 'unsent'; readonly ids: readonly string[] }
  /** By the leader: a pod may start so many calls. */
  | Grant
  /** By the leader: a new account begins, with so many calls spent within the last minute, nobody knows when. */
  | { readonly kind: 'fresh'; readonly spent: number }
  /** By the leader: of some pods nothing is heard, and they may go on by themselves. Until they are back the others have this part of the plan, 0 < of < 1. */
  | { readonly kind: 'part'; readonly of: number; readonly without: readonly string[] };

/** A call: how long ago it was sent and answered, milliseconds. */
export type Apart = readonly [sentAgoMs: number, answeredAgoMs: number];

export interface Grant { readonly kind: 'grant'; readonly pod: string; readonly ids: readonly string[] }

/** An event, and when the store had it: its clock, milliseconds. */
export interface Stamped { readonly atMs: number; readonly event: QuotaEvent }

export interface PodState {
  readonly pod: string;
  /** Permits that it could use at once, besides those on their way to it. */
  readonly want: number;
  /** Permits in hand, and calls that were sent and are not answered. */
  readonly inFlight: number;
  /** Calls that a window of a minute may still hold. */
  readonly spent: number;
}

/** A pod of which nothing is heard: it may be gone, or go on by itself. */
export interface MissingPod {
  readonly pod: string;
  /** The part of the plan that it was told to be its own then. */
  readonly share: number;
}

/** What a pod tells at each turn. `token`: what it leads by, if nobody does. */
export interface Turn extends PodState { readonly token: string; readonly events: readonly QuotaEvent[] }

export interface TurnReply {
  /** The store's clock. */
  readonly nowMs: number;
  /** The token of whoever leads. */
  readonly leader: string;
  /** The part of the plan that is this pod's when it goes by itself, 0 < share <= 1: of what the missing ones leave, as much as the other pods have. */
  readonly share: number;
  /** Calls of all pods that a window of a minute may still hold. */
  readonly spent: number;
  /** When calls may start again by what the leader knows; 0: now, or it is not known. */
  readonly freeAtMs: number;
  readonly grants: readonly { readonly id: string; readonly atMs: number }[];
}

/** What the leader tells. `events`: its own. `forget`: missing pods that are gone for certain, or as good as. */
export interface LeadTurn { readonly token: string; readonly events: readonly QuotaEvent[]; readonly freeAtMs: number; readonly forget: readonly string[] }

export interface LeadReply {
  readonly nowMs: number;
  readonly pods: readonly PodState[];
  readonly missing: readonly MissingPod[];
  /** What pods have told since. */
  readonly events: readonly QuotaEvent[];
}

/** Where pods meet: Redis. Every call settles within a second or two, and rejects when the store cannot be reached. */
export interface QuotaStore {
  turn(turn: Turn): Promise<TurnReply>;
  /** Hands out what was granted, and collects what was told. Null: somebody else leads, and nothing was done. */
  lead(turn: LeadTurn): Promise<LeadReply | null>;
  /** What was told and granted of late, in order: for a new leader. */
  history(): Promise<readonly Stamped[]>;
  /** A pod goes: what it led, others may lead at once. */
  leave(pod: string, token: string, events: readonly QuotaEvent[]): Promise<void>;
  close(): void;
}

/** How long a permit may be used after it was granted. Then it goes back. */
export const LEASE_MS = 1_000;
/** A pod that was not heard of for so long is missing. */
export const POD_LEASE_MS = 4_000;
/** And for so long, gone: if it goes on by itself all the same, it is somebody else on the key. */
export const MISSING_MS = 600_000;
/** What a pod's name ends in, after a dot, is chosen anew by each run; what comes before, the next run of the same has as well: then it takes the place of one that is missing. */
export const placeOf = (pod: string): string => pod.slice(0, Math.max(0, pod.lastIndexOf('.')));

/** What pods have where all of the plan is left to missing ones: enough to see, sooner or later, whether anybody uses it. */
export const LEAST_PART = 0.02;

/** The part of the plan that pods have while others are missing: what these were told to be theirs is left to them, for they may go by it. */
export function partOfThose(missing: readonly MissingPod[]): number {
  return Math.max(LEAST_PART, missing.reduce((left, { share }) => left - share, 1));
}

/** A leader that was not heard of for so long leads no more. Longer than a lease: when the next one leads, nothing that it does not know of is granted and unused. */
export const LEADER_LEASE_MS = 3_000;
