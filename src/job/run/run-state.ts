import type { StopSignals } from '../../util/stop-signals.ts';
import { assert } from '../../util/assert.ts';

export type RunPhase = 'opening' | 'running' | 'draining' | 'finishing' | 'finished' | 'stopped';

const NEXT: Readonly<Record<RunPhase, readonly RunPhase[]>> = {
  opening: ['running', 'stopped'],
  running: ['draining', 'stopped'],
  draining: ['finishing', 'stopped'],
  finishing: ['finished', 'stopped'],
  finished: [],
  stopped: [],
};

/**
 * The state of a run, and why it stops. Signals, a lost lock and failures of all parts meet here and nowhere else: the first reason counts,
 * and `runPipeline` throws it once, at its end. The exit code is that error's.
 *
 * ## opening
 * Entered by `runPipeline`. The parts are opened one after the other.
 * Left to `running` when all are open, to `stopped` when one cannot be opened.
 *
 * ## running
 * Records are read, looked up and written.
 * Left to `draining` when the last record is written, or by the first reason to stop: a signal, a lost lock, a failure.
 *
 * ## draining
 * Nothing is read and no new call is sent. Calls in flight have `DRAIN_MS` to be answered; a second signal cancels them.
 * Left to `finishing` when every record is written, to `stopped` when there is a reason to stop. A reason may still come in this state.
 *
 * ## finishing
 * The output takes its name. A signal changes nothing from here on.
 * Left to `finished` when the checkpoint says so, to `stopped` by a failure.
 *
 * ## finished, stopped
 * Final. All parts are closed, last opened first.
 */
export class RunState {
  readonly #signals: StopSignals;
  readonly #intake = new AbortController();
  readonly #stopping = Promise.withResolvers<void>();
  readonly #onDrain = (): void => this.stopFor(this.#signals.drain.reason);
  readonly #onAbort = (): void => this.stopFor(this.#signals.abort.reason);
  #phase: RunPhase = 'opening';
  #stop: { readonly reason: unknown } | null = null;

  constructor(signals: StopSignals) {
    this.#signals = signals;
    signals.drain.addEventListener('abort', this.#onDrain, { once: true });
    signals.abort.addEventListener('abort', this.#onAbort, { once: true });
    if (signals.drain.aborted) this.#onDrain();
  }

  get phase(): RunPhase {
    return this.#phase;
  }

  /** Whether there is a reason to stop. */
  get isStopping(): boolean {
    return this.#stop !== null;
  }

  /** The error that the run ends with, once `isStopping`. */
  get reason(): unknown {
    return this.#stop?.reason;
  }

  /** Aborted with the reason, for work that waits for the input. */
  get stopping(): AbortSignal {
    return this.#intake.signal;
  }

  /** Resolves when there is a reason to stop. */
  get whenStopping(): Promise<void> {
    return this.#stopping.promise;
  }

  /** The one setter. @throws Error for a step that the table above does not have */
  enter(next: RunPhase): void {
    assert(NEXT[this.#phase].includes(next), `a run goes from ${this.#phase} to ${next}`);
    this.#phase = next;
  }

  /** A reason to stop. Only the first counts, and none once the run is finishing. */
  stopFor(reason: unknown): void {
    if (this.#stop !== null || !['opening', 'running', 'draining'].includes(this.#phase)) return;
    this.#stop = { reason };
    this.#intake.abort(reason);
    this.#stopping.resolve();
  }

  /** Listens to the signals no longer. */
  close(): void {
    this.#signals.drain.removeEventListener('abort', this.#onDrain);
    this.#signals.abort.removeEventListener('abort', this.#onAbort);
  }
}
