/** Refusals of requests whose cost or change the store cannot take. Pure. */
import { ServiceError, type ErrorCode } from '../http/problem.ts';
import type { WriteFailure } from '../store/store-disk.ts';

/** Seconds after which another process may have let go of the books, and after which a disk may have been mended. */
const BUSY_RETRY_S = '1';
const DISK_RETRY_S = '10';

const REFUSALS: Readonly<Record<WriteFailure, { readonly code: ErrorCode; readonly what: string; readonly retryS: string }>> = {
  store_failed: { code: 'overloaded', what: 'the store could not be written', retryS: BUSY_RETRY_S },
  disk_full: { code: 'disk_full', what: 'the disk of the store is full', retryS: DISK_RETRY_S },
  disk_read_only: { code: 'overloaded', what: 'the disk of the store is read-only', retryS: DISK_RETRY_S },
  disk_failed: { code: 'overloaded', what: 'the disk of the store fails', retryS: DISK_RETRY_S },
};

/** @param failure null when the service is about to stop @param undone the step that did not happen */
export function storeUnwritable(failure: WriteFailure | null, undone: 'charged' | 'changed'): ServiceError {
  const { code, what, retryS } = REFUSALS[failure ?? 'store_failed'];
  return new ServiceError(code, `${what}, and nothing was ${undone}; send the same request again`, { headers: { 'retry-after': retryS } });
}

/** Damaged rows: they cannot be read or written. */
export function storeDamaged(): ServiceError {
  return new ServiceError(
    'internal_error',
    'what the store has of this is damaged, and nothing was charged; the operator can tell by the request id',
  );
}
