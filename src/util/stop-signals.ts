/** How a command is asked to end. Imports nothing, so that any room can use it. */
export interface StopSignals {
  /** Take in no more, and finish what is in flight. Its reason is the error that the command ends with. */
  readonly drain: AbortSignal;
  /** Cancel what is in flight too. Its reason is such an error as well. */
  readonly abort: AbortSignal;
}

/** Does work that is told to stop `ms` after `drain` aborts, or `ms` from now when it has already. Afterwards nothing listens. */
export async function withGrace<T>(drain: AbortSignal, ms: number, work: (stop: AbortSignal) => Promise<T>): Promise<T> {
  const grace = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const begin = (): void => {
    timer = setTimeout(() => grace.abort(), ms);
  };
  if (drain.aborted) begin();
  else drain.addEventListener('abort', begin, { once: true });
  try {
    return await work(grace.signal);
  } finally {
    drain.removeEventListener('abort', begin);
    clearTimeout(timer);
  }
}
