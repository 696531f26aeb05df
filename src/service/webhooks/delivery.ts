/** The types of a delivery: new, claimed, settled, and in answers. Pure. */
import type { About, EventType } from './announcement.ts';
import type { Attempt } from './attempt.ts';

/** `pending`: an attempt is under way, or is due now or later. */
export type DeliveryState = 'pending' | 'delivered' | 'failed';

/** Reasons to give up a delivery that are not answers of the receiver. */
export type GivenUp = 'webhook_disabled' | 'key_revoked' | 'unreadable';

/** A webhook, or the `webhook_url` of a request. */
type Target = { readonly webhookId: string } | { readonly url: string };

export interface NewDelivery {
  readonly keyId: string;
  readonly to: Target;
  /** Host name with its port: deliveries to one host share its slots. */
  readonly host: string;
  readonly type: EventType;
  /** Compressed (`packBody`). */
  readonly body: Uint8Array;
  readonly about: About;
  readonly createdMs: number;
}

/** A delivery that a process has claimed. */
export interface Claimed {
  /** The same at each attempt. The only identifier: row numbers are reused. */
  readonly id: string;
  readonly keyId: string;
  readonly webhookId: string | null;
  readonly url: string;
  readonly host: string;
  /** The compressed body. A damaged one would fail the transaction, so it is decompressed after the transaction. */
  readonly packed: Uint8Array;
  readonly about: About;
  readonly createdMs: number;
  /** Failed attempts since the last redelivery request. */
  readonly attempts: number;
  /** The number of redelivery requests. */
  readonly round: number;
  /** The webhook was disabled after the delivery was made. */
  readonly isDisabled: boolean;
}

/** A delivery in answers. Times are epoch milliseconds. */
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

/** The state after an attempt. `nextMs` is null for a settled delivery. */
export interface Outcome {
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly nextMs: number | null;
  readonly lastMs: number;
  readonly lastStatus: number | null;
  readonly lastError: string | null;
}

/** A delivery that was dropped. */
export interface Dropped {
  /** The webhook, or the key for a `webhook_url`. */
  readonly channel: string;
  /** Whether the delivery was pending. */
  readonly isLost: boolean;
}

/** The last attempt in the columns of an outcome. @param lastMs the time of the attempt, epoch milliseconds */
export function lastOf({ status, error }: Attempt, lastMs: number): Pick<Outcome, 'lastMs' | 'lastStatus' | 'lastError'> {
  return { lastMs, lastStatus: status, lastError: error };
}
