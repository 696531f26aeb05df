import { setTimeout as sleep } from 'node:timers/promises';
import { readCheckpoint, type Checkpoint, type ExpectedRecords } from '../../checkpoint/checkpoint-file.ts';
import { currentHolder } from '../../lock/job-lock.ts';
import { EXIT, MillraceError, type ExitCode } from '../../util/errors.ts';
import type { InputManifest } from '../../formats/input-record.ts';
import { jobPaths, type JobPaths } from '../lifecycle/paths.ts';
import { buildReport } from '../report/report.ts';
import { shardsUnderWay } from '../shards/in-one-piece.ts';
import { statusOfShards, type ShardsStatus } from '../shards/status.ts';
import { expectedRecords, recordsDone, shareDone, formatShare } from '../../checkpoint/expected-records.ts';
import { newCheckpoint } from '../lifecycle/new-checkpoint.ts';
import { LiveLines, sizeOf } from '../progress/live-lines.ts';
import { leftText, summaryTable } from '../progress/summary.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { count, formatClock } from '../../util/display.ts';

const WATCH_EVERY_MS = 1_000;

/**
 * Progress of a running, stopped or finished job, from its checkpoint. `--json`: the report's shape plus `state`
 * (`not_started`, `running`, `stopped`, `finished`) and `position`.
 * `retry`: during a retry, how many records had failed and how many rows were open when it began. Rows that it has not reached count as
 * they were.
 * `shards`: only for a job that runs in shards.
 */
export async function statusCommand(job: CompiledJob, options: { json: boolean }): Promise<ExitCode> {
  process.stdout.write((await statusOf(job, options)).text);
  return EXIT.ok;
}

/**
 * Shows the status again and again, in place on a terminal, until the job no longer runs. Elsewhere than on a terminal each change is
 * printed once.
 * @param signal ends it
 */
export async function watchStatus(job: CompiledJob, options: { json: boolean }, signal: AbortSignal): Promise<ExitCode> {
  const { stdout } = process;
  const lines = new LiveLines(stdout);
  let shown = '';
  for (;;) {
    const { text, state } = await statusOf(job, options);
    const isLive = stdout.isTTY && !options.json;
    if (isLive) {
      const { columns, rows } = sizeOf(stdout);
      const fitting = text
        .trimEnd()
        .split('\n')
        .slice(0, rows - 1)
        .map((line) => line.slice(0, columns - 1));
      const lengths = fitting.map(({ length }) => length);
      lines.draw(fitting, lengths);
    } else if (text !== shown) stdout.write(text);
    shown = text;
    if (state !== 'running' || signal.aborted) {
      if (isLive) {
        lines.erase();
        stdout.write(text);
      }
      return EXIT.ok;
    }
    await sleep(WATCH_EVERY_MS, undefined, { signal }).catch(() => undefined);
  }
}

interface ShownStatus {
  readonly text: string;
  readonly state: string;
}

async function statusOf(job: CompiledJob, options: { json: boolean }): Promise<ShownStatus> {
  if (job.output.uri === '-')
    throw new MillraceError(EXIT.usage, 'no_checkpoint', 'a run to standard output keeps no checkpoint, so there is no status', {
      hint: 'Name a file as --output.',
    });
  const paths = jobPaths(job, { scratch: null });
  const plan = await shardsUnderWay(paths);
  if (plan !== null) {
    const status = await statusOfShards(job, paths, plan, Date.now());
    return { text: inShards(job, status, options), state: status.state };
  }
  const checkpoint = await readCheckpoint(paths.checkpoint);
  if (checkpoint === null) {
    const text = options.json
      ? `${JSON.stringify(notStarted(job, paths))}\n`
      : `${job.name}: not started (no checkpoint at ${paths.checkpoint})\n`;
    return { text, state: 'not_started' };
  }
  const holder = await currentHolder(paths.lock, Date.now());
  const state = checkpoint.state === 'finished' ? 'finished' : holder === null ? 'stopped' : 'running';
  const report = buildReport(checkpoint, job);
  const expected = state === 'finished' ? { records: report.records.total, isExact: true } : expectedBy(checkpoint);
  const done = recordsDone(checkpoint, report.records.total, checkpoint.mark.position) + (checkpoint.settled ?? 0);
  const share = state === 'finished' ? 1 : shareDone(done, expected);
  const {
    mark: { position },
    retry,
  } = checkpoint;
  const before = retry?.before.result.tally ?? null;
  if (options.json) {
    const where =
      position === null
        ? null
        : { file: checkpoint.manifest.files[position.file]?.uri ?? null, line: position.line, offset: position.offset };
    const left = before === null ? null : { failed: before.outcomes.failed, ...(before.open === undefined ? {} : { open: before.open }) };
    const status = { ...report, state, position: where, share, expected, retry: left, updatedAt: checkpoint.updatedAt };
    return { text: `${JSON.stringify(status)}\n`, state };
  }
  const held = state === 'running' && holder !== null ? ` by process ${holder.pid} on ${holder.host} since ${holder.since}` : '';
  const what =
    before === null
      ? `${count(report.records.total)} rows written`
      : `retrying: ${leftText(before)} (the output stays as it was until then)`;
  const { goesOnAt } = report.quota;
  const until =
    goesOnAt === null || Date.parse(goesOnAt) <= Date.now()
      ? ''
      : `, the service lets it go on at ${formatClock(Date.parse(goesOnAt), Date.now())}`;
  const head = `${job.name}: ${state}${held}${until}, ${formatShare(share, expected)}, ${what}, checkpoint of ${checkpoint.updatedAt}`;
  return { text: `${head}\n${summaryTable(report, state === 'finished' ? paths : null)}\n`, state };
}

/** The status of a job whose shards are not joined yet: the sum, and each of them in `shards`. */
function inShards(job: CompiledJob, { shards, checkpoint, state, share }: ShardsStatus, options: { json: boolean }): string {
  const report = buildReport(checkpoint, job);
  const expected: ExpectedRecords = { records: shards.reduce((sum, { of }) => sum + of, 0), isExact: true };
  const { updatedAt } = checkpoint;
  if (options.json) return `${JSON.stringify({ ...report, state, position: null, share, expected, retry: null, updatedAt, shards })}\n`;
  const head =
    `${job.name}: ${state}, in ${shards.length} shards, ${formatShare(share, expected)}, ${count(report.records.total)} rows written, ` +
    `checkpoint of ${checkpoint.updatedAt}`;
  const each = shards.map(
    ({ shard, state, rows, of }) => `  ${shard}  ${state.replace('_', ' ').padEnd(11)}  ${count(rows)} of ${count(of)} rows`,
  );
  return `${[head, ...each, summaryTable(report, null)].join('\n')}\n`;
}

/** The last estimate of the run; before its first one, an estimate from the written rows. */
function expectedBy(checkpoint: Checkpoint): ExpectedRecords | null {
  const { mark, limit } = checkpoint;
  return checkpoint.expected ?? expectedRecords(checkpoint, { records: mark.tally.total, upTo: mark.position, isAll: false, limit });
}

/** The same shape with zeros. */
function notStarted(job: CompiledJob, paths: JobPaths): Record<string, unknown> {
  const nothing = newCheckpoint(job, paths, NO_INPUT, 1, new Date(0));
  return {
    ...buildReport(nothing, job),
    startedAt: null,
    state: 'not_started',
    position: null,
    share: 0,
    expected: null,
    retry: null,
    updatedAt: null,
  };
}

const NO_KEY = { email: null, domain: null, linkedin_url: null };
const NO_INPUT: InputManifest = { format: 'csv', files: [], columns: [], keyName: NO_KEY };
