/** The service's records and what one call comes back with. Types only. */
import type { ConnectionFault } from './connection-fault.ts';
import type { QuotaReading } from './quota/quota-reading.ts';

/** Company part of a person record, and the bare company record; unknown fields are kept. */
export interface CompanyRecord {
  readonly [field: string]: unknown;
  readonly name?: string | null;
  readonly domain?: string | null;
  readonly employees?: number | null;
  readonly revenue?: string | null;
  readonly industry?: string | null;
  readonly stack?: readonly string[] | null;
}

/** The answer of /v1/enrich: the specification's fields, and any others that the service sends. */
export interface PersonRecord {
  readonly [field: string]: unknown;
  readonly email?: string | null;
  readonly name?: string | null;
  readonly title?: string | null;
  readonly company?: CompanyRecord | null;
  readonly verified?: boolean | null;
}

/** The answer of /v1/contacts/reveal: a person with contact data. */
export interface ContactRecord extends PersonRecord {
  readonly mobile?: string | null;
  readonly linkedin_url?: string | null;
}

/** One e-mail's verdict; `result` and `confidence` are read from whichever name the service uses. */
export interface VerificationResult {
  readonly [field: string]: unknown;
  readonly email: string;
  /** `deliverable`, `undeliverable`, `risky`, `unknown`, or a value the service added later. */
  readonly result: string;
  /** 0..100, or null. */
  readonly confidence: number | null;
  readonly reason: string | null;
}

/** Response headers as undici gives them: names in lower case. */
export type ResponseHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** The facts about a response, whatever it means. `status` is 0 without a response. */
export interface CallMeta {
  readonly status: number;
  readonly headers: ResponseHeaders;
  /** The quota that the headers state; null when they state none. */
  readonly quota: QuotaReading | null;
  readonly requestId: string | null;
  /** `X-Credits-Charged`, 0 when it is absent or no such number. */
  readonly credits: number;
  /** The answer says nothing of its credits that can be read. */
  readonly namesNoCredits?: true;
  /** The service says that it serves sample data. */
  readonly isSample?: true;
  /** From sending to the last byte, milliseconds (monotonic). */
  readonly latencyMs: number;
}

/** The result of one attempt. The client decides the kind; the pool paces and retries by it. Never thrown. */
export type CallResult<T> =
  | { readonly kind: 'ok'; readonly value: T; readonly meta: CallMeta }
  /** Found nothing: 404 with a JSON body, or 200 with null, {} or a record whose person and company fields are empty. */
  | Miss
  /** 451: the person asked to be removed. */
  | { readonly kind: 'suppressed'; readonly meta: CallMeta }
  /** 400, 413, 422 and other 4xx of this one request: asking again would not help. `code` is the service's own, else `http_<status>`. */
  | Rejected
  | Denied
  /** A redirect, or a 404 that is no miss: this is not such a service. Ends the job, unless the service has answered it otherwise. */
  | { readonly kind: 'wrong_address'; readonly detail: string; readonly meta: CallMeta }
  /** 429, or 503 with Retry-After: later, at no cost in retries. `retryAfterMs` null: the service did not say. */
  | { readonly kind: 'throttled'; readonly retryAfterMs: number | null; readonly meta: CallMeta }
  /**
   * Worth another attempt: 408, 409 idempotency_in_flight, 425, 5xx, network errors, timeouts, unreadable success bodies. `code` such as
   * `http_500`, `timeout`, `network`, `bad_body`, `bad_shape`.
   */
  | Retryable;

export interface Miss {
  readonly kind: 'miss';
  /** The form of a 404 that something else than the service may send, too. Absent: nothing else says so. */
  readonly form?: string;
  /** The answer for the ledger, from which corrected rules of the provider's definition may read a record. */
  readonly stored?: string;
  readonly meta: CallMeta;
}

/** 401, 402, 403, 421: key refused or out of credits. */
export interface Denied {
  readonly kind: 'denied';
  readonly code: string;
  readonly detail: string;
  /** Which key the call carried, where it may change. */
  readonly keyVersion?: number;
  /** A 403 that is not JSON: what stands in front of a service says that, too. */
  readonly isForeign?: true;
  readonly meta: CallMeta;
}

export interface Rejected {
  readonly kind: 'rejected';
  readonly code: string;
  readonly detail: string;
  readonly meta: CallMeta;
  readonly page?: true;
  /** A match that the provider's definition cannot map, for the ledger: it is paid for, and a corrected mapping may read it. */
  readonly stored?: string;
}

export interface Retryable {
  readonly kind: 'retryable';
  readonly code: string;
  readonly detail: string;
  readonly retryAfterMs: number | null;
  readonly meta: CallMeta;
  /** Why no connection came about, where waiting does not mend it. */
  readonly fault?: ConnectionFault;
  /** The body is an HTML page: it comes from what stands in front of a service, or in its place. Also of a refusal. */
  readonly page?: true;
  /** A whole success of a shape that says nothing here. It may be paid for, so a second one is the last. */
  readonly unfit?: true;
}
