/** Sends the metrics of a run to an OpenTelemetry collector, every minute and at the end, and at the end its trace. */
import { randomBytes } from 'node:crypto';
import { sendMessage } from '../../client/send-message.ts';
import { EXIT } from '../../util/errors.ts';
import { withGrace } from '../../util/stop-signals.ts';
import type { OtelSettings, OtlpTarget } from '../../telemetry/otel-environment.ts';
import { metricsBody, tracesBody, type Span } from '../../telemetry/otlp.ts';
import { startedAtMs } from '../../telemetry/process-metrics.ts';
import type { Family } from '../../telemetry/prometheus-text.ts';
import type { Reporter } from '../progress/reporter.ts';
import type { Report } from '../report/report.ts';
import { familiesOf } from './metrics.ts';
import { viewsOf, type RunView } from './run-view.ts';

/** Milliseconds for the last sending after a signal: a pod is killed 30 s after it, and a run may drain for 25 of them. */
const WITHIN_MS_AFTER_SIGNAL = 2_000;

export class TelemetryPush {
  readonly #settings: OtelSettings;
  readonly #job: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #drain: AbortSignal;
  readonly #begunMs = startedAtMs();
  readonly #startMs = Date.now();
  #look: (() => RunView) | null = null;
  /** The metrics of the moment in which the run ended. */
  #last: readonly Family[] | null = null;
  #report: Report | null = null;
  #timer: NodeJS.Timeout | null = null;
  #sending: Promise<void> = Promise.resolve();
  #warn: Reporter['warn'] = () => undefined;
  #hasWarned = false;

  /** @param env the variables of proxies @param drain aborted by the first signal */
  constructor(job: string, settings: OtelSettings, env: NodeJS.ProcessEnv, drain: AbortSignal) {
    this.#env = env;
    this.#drain = drain;
    this.#job = job;
    this.#settings = settings;
  }

  /** A reporter that also follows the run. */
  watching(reporter: Reporter): Reporter {
    this.#warn = (event, text) => reporter.warn(event, text);
    if (this.#settings.problem !== null) reporter.warn('otel', this.#settings.problem);
    return {
      ...reporter,
      start: (parts) => {
        this.#look = viewsOf(parts, () => performance.now(), Date.now);
        this.#timer = setInterval(() => this.#pushMetrics(), this.#settings.everyMs).unref();
        reporter.start(parts);
      },
      stop: () => {
        this.#last = this.#families();
        if (this.#timer !== null) clearInterval(this.#timer);
        reporter.stop();
      },
      stopped: (report) => {
        this.#report = report;
        reporter.stopped(report);
      },
      finished: (report, paths) => {
        this.#report = report;
        reporter.finished(report, paths);
      },
    };
  }

  /** The run has ended: sends the last metrics and the trace. @param error null when it has finished. Never rejects. */
  async close(exitCode: number, error: unknown): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    await this.#sending;
    const { metrics, traces, resource } = this.#settings;
    await Promise.all([
      metrics === null ? null : this.#send(metrics, this.#metrics()),
      traces === null ? null : this.#send(traces, tracesBody(this.#spans(exitCode, error), resource)),
    ]);
  }

  #pushMetrics(): void {
    const { metrics } = this.#settings;
    // A sending that is under way has not ended: the next one has all that this one would have.
    if (metrics !== null) this.#sending = this.#sending.then(() => this.#send(metrics, this.#metrics(), this.#settings.everyMs));
  }

  #families(): readonly Family[] {
    return familiesOf(this.#job, this.#look?.() ?? null, this.#begunMs);
  }

  #metrics(): string {
    return metricsBody(this.#last ?? this.#families(), this.#settings.resource, this.#begunMs, Date.now());
  }

  /** The run, and its waits of five seconds or more. */
  #spans(exitCode: number, error: unknown): Span[] {
    const { parent } = this.#settings;
    const traceId = parent?.traceId ?? randomBytes(16).toString('hex');
    const spanId = randomBytes(8).toString('hex');
    const report = this.#report;
    const run: Span = {
      traceId,
      spanId,
      parentSpanId: parent?.spanId ?? null,
      name: 'millrace run',
      startMs: this.#startMs,
      endMs: Date.now(),
      attributes: {
        'millrace.job': this.#job,
        'millrace.exit_code': exitCode,
        ...(report === null
          ? {}
          : { 'millrace.records': report.records.total, 'millrace.failed': report.records.failed, 'millrace.credits': report.credits }),
      },
      error: error === null ? (exitCode === EXIT.ok ? null : (report?.exitReasons ?? []).join('; ')) : (error as Error).message,
    };
    const waits = (report?.waits.list ?? []).filter(({ at }) => Date.parse(at) >= this.#startMs);
    return [
      run,
      ...waits.map(({ at, ms, reason, what }) => ({
        traceId,
        spanId: randomBytes(8).toString('hex'),
        parentSpanId: spanId,
        name: `wait: ${reason}`,
        startMs: Date.parse(at),
        endMs: Date.parse(at) + ms,
        attributes: { 'millrace.waits_for': what },
        error: null,
      })),
    ];
  }

  async #send({ url, headers, timeoutMs }: OtlpTarget, body: string, mostMs = Infinity): Promise<void> {
    const withinMs = Math.min(mostMs, timeoutMs);
    const failure = await withGrace(this.#drain, WITHIN_MS_AFTER_SIGNAL, (stop) =>
      sendMessage(url, body, { headers: () => headers, withinMs, stop, env: this.#env }),
    );
    if (failure === null || this.#hasWarned) return;
    this.#hasWarned = true;
    this.#warn('otel', `the OpenTelemetry collector at ${new URL(url).origin} did not take the data of this run: ${failure}`);
  }
}
