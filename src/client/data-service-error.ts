/** The error of a call of the library. */

/** A finding of the service: what is wrong, and where. */
export interface ErrorFinding {
  /** Place in the body (RFC 6901). */
  readonly pointer?: string;
  /** Name of a query parameter or header. */
  readonly parameter?: string;
  readonly code: string;
  readonly detail: string;
}

interface DataServiceErrorFields {
  readonly status?: number;
  readonly code: string;
  readonly retryable: boolean;
  readonly requestId?: string | null;
  readonly retryAfterMs?: number | null;
  readonly errors?: readonly ErrorFinding[];
}

/** A call without the answer that it asked for. */
export class DataServiceError extends Error {
  override readonly name = 'DataServiceError';
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** The service's own code, else `timeout`, `network`, `bad_body`, `aborted`, `wrong_address` or `http_<status>`. */
  readonly code: string;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** The id to give to the service's support. */
  readonly requestId: string | null;
  /** How long the service asked to wait, in milliseconds; null when it did not say. */
  readonly retryAfterMs: number | null;
  /** Each mistake in the request. */
  readonly errors: readonly ErrorFinding[];
  /** Attempts of this call. */
  attempts = 1;
  /** The batch that stays open when the upload of its parts failed; else null. */
  batchId: string | null = null;

  constructor(message: string, fields: DataServiceErrorFields) {
    super(message);
    this.status = fields.status ?? 0;
    this.code = fields.code;
    this.retryable = fields.retryable;
    this.requestId = fields.requestId ?? null;
    this.retryAfterMs = fields.retryAfterMs ?? null;
    this.errors = fields.errors ?? [];
  }
}
