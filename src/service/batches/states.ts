/** The states of a batch job, and which follows which. Pure. */

export const STATES = ['open', 'validating', 'queued', 'in_progress', 'paused', 'finalizing', 'completed', 'failed', 'cancelling', 'cancelled', 'expired'] as const;
export type BatchState = (typeof STATES)[number];

/** What may follow a state; nothing follows an end. */
export const NEXT: Readonly<Record<BatchState, readonly BatchState[]>> = {
  open: ['validating', 'cancelling', 'expired'],
  validating: ['queued', 'failed', 'cancelling'],
  queued: ['in_progress', 'failed', 'cancelling'],
  in_progress: ['paused', 'finalizing', 'failed', 'cancelling'],
  paused: ['in_progress', 'failed', 'cancelling'],
  finalizing: ['completed'],
  completed: [],
  failed: [],
  cancelling: ['cancelled'],
  cancelled: [],
  expired: [],
};

/** Those in which the service has something to do, the most urgent first. */
export const ACTIVE: readonly BatchState[] = ['cancelling', 'finalizing', 'validating', 'in_progress', 'paused', 'queued'];
/** Every line has its result, and the results can be read. */
export const WITH_RESULTS: readonly BatchState[] = ['completed', 'cancelled'];

export function mayFollow(from: BatchState, to: BatchState): boolean {
  return NEXT[from].includes(to);
}

export function hasEnded(state: BatchState): boolean {
  return NEXT[state].length === 0;
}
