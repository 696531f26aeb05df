/** How a command is asked to end. Imports nothing, so that any room can use it. */
export interface StopSignals {
  /** Take in no more, and finish what is in flight. Its reason is the error that the command ends with. */
  readonly drain: AbortSignal;
  /** Cancel what is in flight too. Its reason is such an error as well. */
  readonly abort: AbortSignal;
}

/** A signal that aborts `ms` after `drain` does, and `ms` from now when it has already. */
export function graceAfter(drain: AbortSignal, ms: number): AbortSignal {
  const grace = new AbortController();
  const begin = (): void => void setTimeout(() => grace.abort(), ms).unref();
  if (drain.aborted) begin();
  else drain.addEventListener('abort', begin, { once: true });
  return grace.signal;
}
