/** Compares the clock of a run with the times of its ledger's answers and of the service. */
import type { ResponseHeaders } from '../../client/types.ts';
import type { RunLedger } from '../../ledger/run-ledger.ts';
import { count } from '../../util/display.ts';
import { parseHttpDate } from '../../util/http-date.ts';
import type { RunMessages } from '../progress/run-messages.ts';

const DAY_MS = 86_400_000;

interface RunClockOptions {
  readonly ledger: Pick<RunLedger, 'answersAhead' | 'countAsWritten'>;
  readonly reporter: Pick<RunMessages, 'info' | 'warn'>;
  /** Epoch milliseconds. */
  readonly now: () => number;
}

/**
 * Answers of a night whose clock was ahead would stay fresh for ever. Once the service's `Date` confirms the clock of this run, they count
 * as written now. Until then nothing is changed: this clock may be the wrong one.
 */
export class RunClock {
  readonly #options: RunClockOptions;
  readonly #ahead: ReturnType<RunLedger['answersAhead']>;
  #isCompared = false;

  /** Warns at once of a ledger whose newest answer is from later than now. */
  constructor(options: RunClockOptions) {
    this.#options = options;
    const { ledger, reporter, now } = options;
    const nowMs = now();
    this.#ahead = ledger.answersAhead(nowMs);
    if (this.#ahead === null) return;
    reporter.warn(
      'clock_behind_ledger',
      `the clock says ${minute(nowMs)}, and the newest answer in the ledger is from ${minute(this.#ahead.newestMs)}: ` +
        `one of the two clocks was wrong. ${night(nowMs)}`,
    );
  }

  /** The service has answered: its first `Date` is compared. */
  answered(headers: ResponseHeaders): void {
    if (this.#isCompared) return;
    const { ledger, reporter, now } = this.#options;
    const { date } = headers;
    const nowMs = now();
    const serviceMs = typeof date === 'string' ? parseHttpDate(date, nowMs) : null;
    if (serviceMs === null) return;
    this.#isCompared = true;
    if (Math.abs(serviceMs - nowMs) >= DAY_MS)
      reporter.warn('clock_off', `the clock says ${minute(nowMs)}, and the service says ${minute(serviceMs)}. ${night(nowMs)}`);
    else if (this.#ahead !== null) {
      const answers = ledger.countAsWritten(this.#ahead, nowMs);
      reporter.info('answers_dated', `${count(answers)} answers of the ledger were dated after now, and count as written now`);
    }
  }
}

function minute(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

function night(ms: number): string {
  return `This run counts as one of ${new Date(ms).toISOString().slice(0, 10)}; --date names another day`;
}
