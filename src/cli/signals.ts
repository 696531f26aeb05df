/** Signals as abort signals: the one place that listens for them. */
import { EXIT, MillraceError } from '../errors.ts';

const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

export interface StopSignals {
  /** The first signal: take in no more, finish what is in flight. Its reason is the error to end with (75). */
  readonly drain: AbortSignal;
  /** The second: cancel what is in flight too. */
  readonly abort: AbortSignal;
}

/** Runs `work` while listening; afterwards signals mean what they meant before. */
export async function withStopSignals<T>(work: (signals: StopSignals) => Promise<T>): Promise<T> {
  const drain = new AbortController();
  const abort = new AbortController();
  const onSignal = (name: string): void => {
    if (!drain.signal.aborted) drain.abort(stoppedBy(name));
    else abort.abort(stoppedBy(name));
  };
  for (const name of STOP_SIGNALS) process.on(name, onSignal);
  try {
    return await work({ drain: drain.signal, abort: abort.signal });
  } finally {
    for (const name of STOP_SIGNALS) process.off(name, onSignal);
  }
}

function stoppedBy(name: string): MillraceError {
  return new MillraceError(EXIT.stopped, 'signalled', `stopped by ${name}`, { hint: 'Run the same command: the job resumes where it stopped.' });
}
