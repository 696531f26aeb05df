/** Quota, credits and request id of an answer. Pure. */
import type { Redactor } from '../redactor.ts';
import type { ResponseHeaders } from '../types.ts';

/** The quota of the API key. */
export interface RateLimit {
  /** Requests a minute; 0 is unlimited. */
  readonly limit: number;
  /** Requests that may be sent at once now. */
  readonly remaining: number;
  /** Seconds until all of them may be sent at once again. */
  readonly reset: number;
}

export interface LastResponse {
  readonly status: number;
  readonly requestId: string | null;
  readonly creditsCharged: number;
  /** It is the stored answer to an earlier request with the same `Idempotency-Key`. */
  readonly replayed: boolean;
  /** Null for a call without a quota. */
  readonly rateLimit: RateLimit | null;
}

export function lastResponseOf(status: number, headers: ResponseHeaders, redactor: Redactor): LastResponse {
  const numberOf = (name: string): number | null => {
    const value = headers[name];
    return typeof value === 'string' && /^\d{1,15}(?:\.\d{1,9})?$/.test(value) ? Number(value) : null;
  };
  const [limit, remaining, reset] = [numberOf('x-ratelimit-limit'), numberOf('x-ratelimit-remaining'), numberOf('x-ratelimit-reset')];
  return {
    status,
    requestId: requestIdOf(headers, redactor),
    creditsCharged: numberOf('x-credits-charged') ?? 0,
    replayed: headers['idempotency-replayed'] === 'true',
    rateLimit: limit === null || remaining === null || reset === null ? null : { limit, remaining, reset },
  };
}

export function requestIdOf(headers: ResponseHeaders, redactor: Redactor): string | null {
  const id = headers['x-request-id'];
  return typeof id === 'string' ? redactor.words(id) : null;
}
