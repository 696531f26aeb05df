/** What calls to batch jobs are refused with. Pure. */
import { ServiceError } from '../errors.ts';
import type { BatchRow } from './batch-rows.ts';
import { MAX_PART_BYTES } from './limits.ts';

const FULL_RETRY_S = '60';
/** Missing parts that are named. */
const MOST_NAMED = 100;

/** What is asked for does not fit the state. */
export function conflict({ state }: BatchRow, why: string): ServiceError {
  return new ServiceError('job_state_conflict', `the job is ${state}, and ${why}`);
}

/** Names parts that were not sent. */
export function missing(parts: readonly number[], detail: string): ServiceError {
  return new ServiceError('job_state_conflict', detail, { errors: parts.slice(0, MOST_NAMED).map((n) => ({ parameter: `parts/${n}`, code: 'missing_part', detail: `part ${n} is missing` })) });
}

/** A part that is larger than one may be. */
export function tooLarge(): ServiceError {
  return new ServiceError('payload_too_large', `a part may have ${MAX_PART_BYTES} bytes at most`);
}

/** The disk takes nothing more, or what is left of it is for the store. */
export function diskFull(): ServiceError {
  return new ServiceError('disk_full', 'the disk has no room for the part; send it again later', { headers: { 'retry-after': FULL_RETRY_S } });
}

/** There is no room now, and may be later. */
export function full(detail: string): ServiceError {
  return new ServiceError('overloaded', detail, { headers: { 'retry-after': FULL_RETRY_S } });
}
