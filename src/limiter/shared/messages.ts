/** What pods that share a quota tell each other through a store. Types only. */
import type { Headers } from '../rate-headers.ts';

/** The names of the headers that a quota is read from. */
export const QUOTA_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset', 'date'] as const;

export type QuotaEvent =
  /** A pod is there, or there again. `apart`: it has sent calls within the last minute that were not granted. `has`: what it holds or has in flight of what was granted to it. */
  | { readonly kind: 'join'; readonly pod: string; readonly apart: boolean; readonly has: readonly string[] }
  /** A call was answered, or came to nothing. `waitMs`: what a throttled answer asks for. `itselfMs`: from its sending to its answer. */
  | { readonly kind: 'answer'; readonly id: string; readonly headers: Headers; readonly throttled: boolean; readonly waitMs: number | null; readonly failed: boolean; readonly itselfMs: number }
  /** Permits that will not be used. */
  | { readonly kind: 'unsent'; readonly ids: readonly string[] }
  /** By the leader: a pod may start so many calls. */
  | Grant
  /** By the leader: a new account begins, with so many calls spent within the last minute, nobody knows when. */
  | { readonly kind: 'fresh'; readonly spent: number };

export interface Grant { readonly kind: 'grant'; readonly pod: string; readonly ids: readonly string[] }

/** An event, and when the store had it: its clock, milliseconds. */
export interface Stamped { readonly atMs: number; readonly event: QuotaEvent }

export interface PodState {
  readonly pod: string;
  /** Permits that it could use at once, besides those on their way to it. */
  readonly want: number;
  /** Permits in hand, and calls that were sent and are not answered. */
  readonly inFlight: number;
  /** Calls sent within the last minute. */
  readonly spent: number;
}

/** What a pod tells at each turn. `token`: what it leads by, if nobody does. */
export interface Turn extends PodState { readonly token: string; readonly events: readonly QuotaEvent[] }

export interface TurnReply {
  /** The store's clock. */
  readonly nowMs: number;
  /** The token of whoever leads. */
  readonly leader: string;
  /** How many pods there are, and calls that they have sent within the last minute. */
  readonly pods: number;
  readonly spent: number;
  /** When calls may start again by what the leader knows; 0: now, or it is not known. */
  readonly freeAtMs: number;
  readonly grants: readonly { readonly id: string; readonly atMs: number }[];
}

/** What the leader tells. `events`: its own. */
export interface LeadTurn { readonly token: string; readonly events: readonly QuotaEvent[]; readonly freeAtMs: number }

export interface LeadReply {
  readonly nowMs: number;
  readonly pods: readonly PodState[];
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
/** A pod that was not heard of for so long is gone. */
export const POD_LEASE_MS = 4_000;
/** A leader that was not heard of for so long leads no more. Longer than a lease: when the next one leads, nothing that it does not know of is granted and unused. */
export const LEADER_LEASE_MS = 3_000;
