/** Sends the messages that a job wants about the end of its run. No failure here changes the run or its exit code. */
import { randomUUID } from 'node:crypto';
import { sendMessage } from '../../client/send-message.ts';
import type { Notification } from '../../definition/notification.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { EXIT, MillraceError } from '../../util/errors.ts';
import { signedHeaders } from '../../util/signed-headers.ts';
import { withGrace } from '../../util/stop-signals.ts';
import type { Reporter } from '../progress/reporter.ts';
import type { Report } from '../report/report.ts';
import { messageBody, type MessageType, type RunEnd } from './messages.ts';

/** Milliseconds for the messages of a run. Kubernetes kills a pod 30 s after its signal, and a run may drain for 25 of them. */
const WITHIN_MS = 60_000;
const WITHIN_MS_AFTER_SIGNAL = 3_000;

interface NotifierOptions {
  readonly job: Pick<CompiledJob, 'name' | 'output' | 'onFinish' | 'onTrouble'>;
  /** The bytes of the signing secret; null when no message is signed. */
  readonly secret: Uint8Array | null;
  readonly env: NodeJS.ProcessEnv;
  /** Aborted by the first signal. */
  readonly drain: AbortSignal;
}

export class Notifier {
  readonly #options: NotifierOptions;
  #report: Report | null = null;
  /** False while nothing was called: a finished job that is run again sends no message. */
  #hasEnded = false;
  #warn: Reporter['warn'] = () => undefined;

  constructor(options: NotifierOptions) {
    this.#options = options;
  }

  /** A reporter that also notes how the run ends. The parts of a shard are not the run. */
  watching(reporter: Reporter): Reporter {
    this.#warn = (event, text) => reporter.warn(event, text);
    const note = (report: Report): void => {
      if (report.output.uri !== this.#options.job.output.uri) return;
      this.#report = report;
      this.#hasEnded = true;
    };
    return {
      ...reporter,
      stopped: (report) => {
        note(report);
        reporter.stopped(report);
      },
      finished: (report, paths) => {
        note(report);
        reporter.finished(report, paths);
      },
      done: (report, paths, why, isNew) => {
        if (isNew) note(report);
        reporter.done(report, paths, why, isNew);
      },
    };
  }

  /** The run has ended without an error. Resolves when the messages are sent, or given up. */
  async ended(exitCode: number): Promise<void> {
    if (!this.#hasEnded) return;
    const end = this.#endOf(exitCode, null);
    const { onFinish, onTrouble } = this.#options.job;
    const isTrouble = exitCode !== EXIT.ok && onTrouble !== null;
    // One message says both, and has the exit code.
    if (!isTrouble || onFinish?.url !== onTrouble.url) await this.#send(onFinish, 'job.finished', end);
    if (isTrouble) await this.#send(onTrouble, 'job.trouble', end);
  }

  /** The run has ended with an error. */
  async failed(error: unknown): Promise<void> {
    const known = error instanceof MillraceError ? error : null;
    const exitCode = known?.exitCode ?? EXIT.bug;
    const end = this.#endOf(exitCode, {
      code: known?.code ?? 'bug',
      message: (error as Error).message,
      hint: known?.hint ?? null,
    });
    await this.#send(this.#options.job.onTrouble, 'job.trouble', end);
  }

  #endOf(exitCode: number, error: RunEnd['error']): RunEnd {
    return { job: this.#options.job.name, exitCode, error, report: this.#report };
  }

  async #send(to: Notification | null, type: MessageType, end: RunEnd): Promise<void> {
    if (to === null) return;
    const { secret, env, drain } = this.#options;
    const id = `msg_${randomUUID()}`;
    const body = messageBody(to.format, type, end, new Date().toISOString());
    const headers = (atMs: number): Record<string, string> =>
      to.format === 'slack' || secret === null ? {} : signedHeaders([secret], id, atMs, body);
    const failure = await withGrace(drain, WITHIN_MS_AFTER_SIGNAL, (stop) =>
      sendMessage(to.url, body, { headers, withinMs: WITHIN_MS, stop, env }),
    );
    if (failure !== null)
      this.#warn('not_notified', `the message about the end of this run was not taken by ${new URL(to.url).origin}: ${failure}`);
  }
}
