/** The service's errors: one table of codes, and problem+json (RFC 9457) as the definitions lay it out. */

/** Every code the service may answer, with its status, title, and whether the same request may work later. */
export const ERRORS = {
  invalid_json: { status: 400, title: 'Invalid JSON', retryable: false },
  unknown_parameter: { status: 400, title: 'Unknown parameter', retryable: false },
  invalid_parameter: { status: 400, title: 'Invalid parameter', retryable: false },
  unauthorized: { status: 401, title: 'Unauthorized', retryable: false },
  insufficient_credits: { status: 402, title: 'Insufficient credits', retryable: false },
  forbidden: { status: 403, title: 'Forbidden', retryable: false },
  no_match: { status: 404, title: 'No match', retryable: false },
  not_found: { status: 404, title: 'Not found', retryable: false },
  method_not_allowed: { status: 405, title: 'Method not allowed', retryable: false },
  request_timeout: { status: 408, title: 'Request timeout', retryable: true },
  idempotency_in_flight: { status: 409, title: 'Request in flight', retryable: true },
  job_state_conflict: { status: 409, title: 'Not in this state', retryable: false },
  payload_too_large: { status: 413, title: 'Payload too large', retryable: false },
  unsupported_media_type: { status: 415, title: 'Unsupported media type', retryable: false },
  expectation_failed: { status: 417, title: 'Expectation failed', retryable: false },
  wrong_region: { status: 421, title: 'Wrong region', retryable: false },
  validation_failed: { status: 422, title: 'Validation failed', retryable: false },
  too_many_emails: { status: 422, title: 'Too many emails', retryable: false },
  idempotency_mismatch: { status: 422, title: 'Idempotency key reused', retryable: false },
  rate_limited: { status: 429, title: 'Rate limited', retryable: true },
  headers_too_large: { status: 431, title: 'Headers too large', retryable: false },
  suppressed_person: { status: 451, title: 'Suppressed person', retryable: false },
  internal_error: { status: 500, title: 'Internal error', retryable: true },
  overloaded: { status: 503, title: 'Overloaded', retryable: true },
  disk_full: { status: 503, title: 'Disk full', retryable: true },
} as const;

export type ErrorCode = keyof typeof ERRORS;

/** A finding and its place: `pointer` (RFC 6901) into the body, or the name of a query parameter or header. */
export interface ErrorItem {
  readonly pointer?: string;
  readonly parameter?: string;
  readonly code: string;
  readonly detail: string;
}

/** Thrown by whatever handles a request; the error handler turns it into the answer. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly errors: readonly ErrorItem[];
  /** Further response headers, names in lower case. */
  readonly headers: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, detail: string, options: { errors?: readonly ErrorItem[]; headers?: Record<string, string> } = {}) {
    super(detail);
    // An expected answer, not a fault: a trace would cost more than the whole request.
    this.code = code;
    this.errors = options.errors ?? [];
    this.headers = options.headers ?? {};
  }

  get status(): number {
    return ERRORS[this.code].status;
  }
}

/**
 * Whether an answer with this status settles the request. Otherwise nothing was done, and the same request may be sent again: after a 402
 * with new credits.
 */
export function settlesRequest(status: number): boolean {
  return status < 500 && status !== 402 && status !== 408 && status !== 409 && status !== 425 && status !== 429;
}

export const PROBLEM_TYPE = 'application/problem+json';

/** The problem document as JSON text. `instance` is the path asked for, without its query. */
export function problem(code: ErrorCode, detail: string, instance: string, requestId: string, errors: readonly ErrorItem[] = []): string {
  const { status, title, retryable } = ERRORS[code];
  return JSON.stringify({
    type: `urn:millrace:error:${code}`,
    title,
    status,
    detail,
    instance,
    code,
    request_id: requestId,
    retryable,
    errors,
  });
}
