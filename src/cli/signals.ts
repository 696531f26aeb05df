/** SIGINT, SIGTERM and SIGHUP as abort signals: the one place that listens for them. */
import { EXIT, MillraceError } from '../util/errors.ts';
import type { StopSignals } from '../util/stop-signals.ts';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The hint after a signal, where there is a job. */
const RESUMES = 'Run the same command: the job resumes where it stopped.';

/**
 * Runs `work` while it listens. The first signal aborts `drain`, the second `abort`; the reason of both is the error to end with (75).
 * @param hint of that error
 */
export async function withStopSignals<T>(work: (signals: StopSignals) => Promise<T>, hint = RESUMES): Promise<T> {
  const drain = new AbortController();
  const abort = new AbortController();
  const onSignal = (name: string): void => {
    if (!drain.signal.aborted) drain.abort(stoppedBy(name, hint));
    else abort.abort(stoppedBy(name, hint));
  };
  for (const name of STOP_SIGNALS) process.on(name, onSignal);
  try {
    return await work({ drain: drain.signal, abort: abort.signal });
  } finally {
    for (const name of STOP_SIGNALS) process.off(name, onSignal);
  }
}

/** Calls `listener` for each SIGUSR2, which asks the service for its successor, until what is returned is called. */
export function onUpgradeSignal(listener: () => void): () => void {
  process.on('SIGUSR2', listener);
  return () => void process.off('SIGUSR2', listener);
}

function stoppedBy(name: string, hint: string): MillraceError {
  return new MillraceError(EXIT.stopped, 'signalled', `stopped by ${name}`, { hint });
}
