/** The states of a batch job and their transitions. Pure. */

export const STATES = [
  'open',
  'validating',
  'queued',
  'in_progress',
  'paused',
  'finalizing',
  'completed',
  'failed',
  'cancelling',
  'cancelled',
  'expired',
] as const;
export type BatchState = (typeof STATES)[number];

/** The states that may follow each state. End states have none. docs/batches.md explains every state. */
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

/** The states in which the service has work to do, the most urgent first. */
export const ACTIVE: readonly BatchState[] = ['cancelling', 'finalizing', 'validating', 'in_progress', 'paused', 'queued'];
/** The states with readable results. */
export const WITH_RESULTS: readonly BatchState[] = ['completed', 'cancelled'];

export function mayFollow(from: BatchState, to: BatchState): boolean {
  return NEXT[from].includes(to);
}

export function hasEnded(state: BatchState): boolean {
  return NEXT[state].length === 0;
}
