/** The options of every call. Types only. */

export interface CallOptions {
  /** Sent as `Idempotency-Key`: a service that honours it charges a repeated call once. */
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}
