/** A delivery, as it is made, taken, settled and told of. Pure. */
import type { About, EventType } from './announcement.ts';
import type { Attempt } from './post.ts';

/** `pending`: it will be tried, or is being so. */
export type DeliveryState = 'pending' | 'delivered' | 'failed';

/** Why nothing more is tried, where it was not for the receiver's answer. */
export type GivenUp = 'webhook_disabled' | 'key_revoked' | 'unreadable';

/** A webhook, or an address that came with a request. */
export type Target = { readonly webhookId: string } | { readonly url: string };

export interface NewDelivery {
  readonly keyId: string;
  readonly to: Target;
  /** With its port: what is delivered to one host shares its slots. */
  readonly host: string;
  readonly type: EventType;
  /** As it is kept (`packBody`). */
  readonly body: Uint8Array;
  readonly about: About;
  readonly createdMs: number;
}

/** One that a process has taken to deliver it. */
export interface Claimed {
  /** The same at each attempt. It is known by that alone: the place of one that was deleted may be another's by now. */
  readonly id: string;
  readonly keyId: string;
  readonly webhookId: string | null;
  readonly url: string;
  readonly host: string;
  /** The body as it is kept: it is not unpacked within the transaction, for one that cannot be would be in the way of all that is written with it. */
  readonly packed: Uint8Array;
  readonly about: About;
  readonly createdMs: number;
  /** Attempts that failed. */
  readonly attempts: number;
  /** How often it was begun anew. */
  readonly round: number;
  /** Its webhook is not in force any more. */
  readonly isDisabled: boolean;
}

/** What is told of one. Times are epoch milliseconds. */
export interface Delivery {
  readonly seq: number;
  readonly id: string;
  readonly type: EventType;
  readonly state: DeliveryState;
  readonly createdMs: number;
  readonly attempts: number;
  readonly nextMs: number | null;
  readonly lastMs: number | null;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

/** What an attempt leads to. `nextMs` null: it is settled. */
export interface Outcome {
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly nextMs: number | null;
  readonly lastMs: number;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

/** One that is not kept any longer. */
export interface Dropped {
  /** A webhook, or a key where it went to an address that came with a request. */
  readonly channel: string;
  /** It was not delivered yet, and will not be. */
  readonly isLost: boolean;
}

/** @param attempt the one that was made at `lastMs` */
export function lastOf({ status, error }: Attempt, lastMs: number): Pick<Outcome, 'lastMs' | 'lastStatus' | 'lastError'> {
  return { lastMs, lastStatus: status, lastError: error };
}
