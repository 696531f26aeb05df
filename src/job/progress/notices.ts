import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { ThrottledWait } from '../../limiter/limiter.ts';
import type { PoolEvents } from '../../pool/call-pool.ts';
import type { Report } from '../report/report.ts';
import type { RunMessages } from './run-messages.ts';
import { count, duration, printable } from '../../util/display.ts';
import type { Step } from '../../steps/registry.ts';

/** Shorter waits appear on the progress line only, because there may be many. */
export const LONG_WAIT_MS = 10_000;
/** Characters of a header's value in the log. */
const MAX_SHOWN = 40;

/** With this many misses and no match, a job looks like a mistake. */
const SURPRISING_MISSES = 10;

/** Inputs that differ by fewer rows are not remarkable. */
const FEW_ROWS = 10;

/** Said in `plan`, and by a run. */
export const SAMPLE_DATA = 'sample data: the people, companies and mailboxes of this service are invented, and it knows no real ones';

/** With a wrong path in the service's address, or a wrong column, each lookup is a miss: the job succeeds, and nothing looks wrong. */
export function warnOfMissesAlone(
  { records: { matched, no_match }, sampleData }: Pick<Report, 'records' | 'sampleData'>,
  reporter: Pick<RunMessages, 'warn'>,
): void {
  if (sampleData === true || matched > 0 || no_match < SURPRISING_MISSES) return;
  reporter.warn(
    'misses_alone',
    `no record matched, and ${count(no_match)} did not: check the path in --base-url and the mapped columns. The ledger keeps these ` +
      'misses; millrace ledger purge takes them out (docs/ledger.md)',
  );
}

/** An input of half or twice the rows is often a broken export. An alert of the job decides better. */
export function warnOfRows(
  { records: { total }, previous, exitReasons = [] }: Pick<Report, 'records' | 'previous' | 'exitReasons'>,
  { alerts }: Pick<CompiledJob, 'alerts'>,
  reporter: Pick<RunMessages, 'warn'>,
): void {
  const before = previous?.records.total ?? 0;
  if (before === 0 || Math.abs(total - before) < FEW_ROWS || exitReasons.length > 0) return;
  const isLess = total <= before / 2 && alerts.rowsBelow === null;
  if (!isLess && (total < 2 * before || alerts.rowsAbove !== null)) return;
  reporter.warn(
    'row_count',
    `the input has ${count(total)} rows, and that of the last run had ${count(before)}; ` +
      `alerts.${isLess ? 'rowsBelow' : 'rowsAbove'} makes such a run exit with 1`,
  );
}

/** No record had an address, and enrich found none: a column of addresses may have another name. */
export function warnOfIdleVerify(
  { records: { total, failed }, verification }: Pick<Report, 'records' | 'verification'>,
  { steps, options }: Pick<CompiledJob, 'steps' | 'options'>,
  reporter: Pick<RunMessages, 'warn'>,
): void {
  const verdicts = Object.values(verification).reduce((sum, count) => sum + count, 0);
  if (!steps.includes('verify') || options.verify.when !== 'always' || total === 0 || failed > 0 || verdicts > 0) return;
  reporter.warn('verify_idle', 'verify had nothing to do: no record has an address. Name its column with --input.columns.email NAME');
}

/** Messages beside the progress of a run: one for each outage, each long wait, and each adaptation to the service. */
export class Notices implements Pick<PoolEvents, 'wentDown' | 'cameBack'> {
  readonly #reporter: RunMessages;
  readonly #maxOutageMs: number;
  readonly #now: () => number;
  #saidUnstated = false;

  /** @param now monotonic milliseconds */
  constructor(reporter: RunMessages, maxOutageMs: number, now: () => number) {
    this.#reporter = reporter;
    this.#maxOutageMs = maxOutageMs;
    this.#now = now;
  }

  wentDown(code: string, detail: string, lastLookups: boolean): void {
    const why = detail === '' ? code : `${code}: ${detail}`;
    if (lastLookups) {
      this.#reporter.warn(
        'service_down',
        `the last lookups fail (${why}): the service is down, or fails for these alone; asking again for ` +
          `${duration(this.#maxOutageMs)} at most`,
      );
      return;
    }
    this.#reporter.warn('service_down', `the service is down (${why}); waiting for it, ${duration(this.#maxOutageMs)} at most`);
  }

  cameBack(downMs: number): void {
    this.#reporter.info('service_back', `the service is back after ${duration(downMs)}`);
  }

  /** The run goes on without the provider. @param why a sentence without its capital and its full stop */
  skipped(why: string): void {
    this.#reporter.warn('provider_skipped', `${why}; the run goes on without this provider`);
  }

  /** An answer that the provider's definition does not fit. @param text names the field, what was expected and what came */
  unfit(text: string): void {
    this.#reporter.warn('provider_unfit', text);
  }

  /** A provider that is asked after others has answered with nothing but misses so far. */
  missesAlone(answers: number): void {
    this.#reporter.warn(
      'provider_misses',
      `the first ${answers} answers were all misses; they are taken for true, as others are asked first`,
    );
  }

  sampleData(): void {
    this.#reporter.warn('sample_data', SAMPLE_DATA);
  }

  keyRenewed(): void {
    this.#reporter.warn('key_renewed', 'the service refused the API key: its file holds another one now, and the run goes on with that');
  }

  /** The limit of open files allows fewer calls at once than the job asks for. A warning only where the job asks for a number. */
  fewFiles(most: number, asked: number | 'auto'): void {
    this.#reporter[asked === 'auto' ? 'detail' : 'warn'](
      'few_files',
      `calls at once: ${most} at most, because the process may not open more files (ulimit -n)`,
    );
  }

  /** The form in which the service states its reset. @param how such as "in epoch seconds", "as a date" */
  resetUnit(how: string): void {
    this.#reporter.detail('reset_unit', `the service states the reset of its quota ${how}`);
  }

  /** A number below 0 in a quota header. @param what such as "remaining -1" */
  negativeQuota(what: string): void {
    this.#reporter.detail('quota_negative', `the service states its quota as "${printable(what)}": read as unlimited or unknown`);
  }

  /** A reset that is not a number, a date or a duration. @param value as the service sent it */
  unreadableReset(value: string): void {
    const shown = printable(value.length > MAX_SHOWN ? `${value.slice(0, MAX_SHOWN)}...` : value);
    this.#reporter.warn(
      'reset_unreadable',
      `the service states the reset of its quota as "${shown}", which is no number, date or duration: the run goes by what it has sent`,
    );
  }

  /** The service could not give some verdicts yet. */
  pending(addresses: number, waitMs: number): void {
    if (waitMs >= LONG_WAIT_MS)
      this.#reporter.info(
        'pending',
        `${addresses} ${addresses === 1 ? 'address is' : 'addresses are'} pending; asking again in ${duration(waitMs)}`,
      );
  }

  /**
   * Requests of a step were too large for the service.
   * @param lookups in one request from now on.
   * @param why such as "ran into the time limit of 30 s"
   */
  smallerRequests(step: Step, lookups: number, why: string): void {
    this.#reporter.warn(`smaller_${step}_requests`, `${step} requests ${why}: ${perRequest(step, lookups)} now`);
  }

  largerRequests(step: Step, lookups: number): void {
    this.#reporter.info(
      `larger_${step}_requests`,
      `${step} requests are answered well within the time limit: ${perRequest(step, lookups)} now`,
    );
  }

  throttled({ untilMs, isNew, cause, what }: ThrottledWait): void {
    if (!isNew) return;
    const waitMs = untilMs - this.#now();
    if (cause === 'unstated') this.#unstated();
    else if (waitMs >= LONG_WAIT_MS)
      this.#reporter.info(
        'throttled',
        cause === 'retry_after'
          ? `the service asks to wait ${duration(waitMs)}: nothing is sent until then`
          : `the service refused a request: nothing is sent for ${duration(waitMs)}, waiting for ${what}`,
      );
  }

  /** Such pauses are short and may be many: one line for all. */
  #unstated(): void {
    if (this.#saidUnstated) return;
    this.#saidUnstated = true;
    this.#reporter.detail(
      'throttled_unstated',
      'the service refuses requests without naming a wait. After a refusal nothing is sent for up to 5 s, then fewer requests at once',
    );
  }
}

function perRequest(step: Step, lookups: number): string {
  const [one, several] = step === 'verify' ? ['address', 'addresses'] : ['lookup', 'lookups'];
  return `${count(lookups)} ${lookups === 1 ? one : several} a request`;
}
