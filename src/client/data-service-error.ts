/** The error of the high-level calls. The low-level ones return a CallResult instead. */
import type { Unsuccessful } from './classify.ts';

interface DataServiceErrorFields {
  readonly status: number;
  readonly code: string;
  readonly retryable: boolean;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;
}

export class DataServiceError extends Error {
  override readonly name = 'DataServiceError';
  /** HTTP status; 0 when no answer came. */
  readonly status: number;
  /** The service's own code, else `http_<status>`, or `timeout`, `network`, `bad_body`, `aborted`. */
  readonly code: string;
  /** Whether the same call may succeed later. */
  readonly retryable: boolean;
  /** The id to give to the service's support. */
  readonly requestId: string | null;
  /** How long the service asked to wait, in milliseconds; null when it did not say. */
  readonly retryAfterMs: number | null;

  constructor(message: string, fields: DataServiceErrorFields) {
    super(message);
    this.status = fields.status;
    this.code = fields.code;
    this.retryable = fields.retryable;
    this.requestId = fields.requestId;
    this.retryAfterMs = fields.retryAfterMs;
  }
}

/** The error that says the same as a result. */
export function toError(call: string, result: Unsuccessful): DataServiceError {
  const { status, requestId } = result.meta;
  const make = (code: string, what: string, retryable: boolean, retryAfterMs: number | null = null): DataServiceError =>
    new DataServiceError(`${call}: ${what} (${code})`, { status, code, retryable, requestId, retryAfterMs });
  switch (result.kind) {
    case 'miss':
      return make('no_match', 'nothing was found', false);
    case 'suppressed':
      return make('suppressed_person', 'the person asked to be removed', false);
    case 'rejected':
      return make(result.code, `refused: ${result.detail}`, false);
    case 'denied':
      return make(result.code, `the key is refused or out of credits: ${result.detail}`, false);
    case 'wrong_address':
      return make('wrong_address', `this is not the data service: ${result.detail}`, false);
    case 'throttled':
      return make(status === 429 ? 'rate_limited' : 'overloaded', 'the service asks to try later', true, result.retryAfterMs);
    case 'retryable':
      return make(result.code, result.detail, result.code !== 'aborted', result.retryAfterMs);
    default: {
      const never: never = result;
      throw new TypeError(`unknown result: ${String(never)}`);
    }
  }
}
