/** Errors of calls to the Batch API. Pure. */
import { ServiceError } from '../http/problem.ts';
import type { BatchRow } from './batch-rows.ts';
import { MAX_PART_BYTES } from './batch-limits.ts';

const FULL_RETRY_S = '60';
/** The number of missing parts that an error names at most. */
const MAX_NAMED = 100;

/** The error of a call that the job's state does not allow. */
export function conflict({ state }: BatchRow, why: string): ServiceError {
  return new ServiceError('job_state_conflict', `the job is ${state}, and ${why}`);
}

/** The error of `complete` when parts are missing. */
export function missing(parts: readonly number[], detail: string): ServiceError {
  return new ServiceError('job_state_conflict', detail, {
    errors: parts.slice(0, MAX_NAMED).map((n) => ({ parameter: `parts/${n}`, code: 'missing_part', detail: `part ${n} is missing` })),
  });
}

/** The error of a part that is too large. */
export function tooLarge(): ServiceError {
  return new ServiceError('payload_too_large', `a part may have ${MAX_PART_BYTES} bytes at most`);
}

/** The error of a part when the disk is full, or its free space is reserved for the store. */
export function diskFull(): ServiceError {
  return new ServiceError('disk_full', 'the disk has no room for the part; send it again later', {
    headers: { 'retry-after': FULL_RETRY_S },
  });
}

/** The error of a temporary lack of room. */
export function full(detail: string): ServiceError {
  return new ServiceError('overloaded', detail, { headers: { 'retry-after': FULL_RETRY_S } });
}
