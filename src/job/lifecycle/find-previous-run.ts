/** Finds the run of the same job before this one: by its report, which is overwritten only when this one has finished. */
import type { PreviousRun } from '../../checkpoint/previous-run.ts';
import { readCheckpoint } from '../../checkpoint/checkpoint-file.ts';
import { CHECKPOINT_SUFFIX } from '../../definition/compile-job.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import type { InputFile } from '../../formats/input-record.ts';
import { storageOf } from '../../storage/storage-of.ts';
import { isObject } from '../../util/is-object.ts';
import { absolutePlace } from '../../util/files/same-place.ts';
import { reportPath } from './paths.ts';
import { parseJson } from '../../util/parse-json.ts';

/** Bytes. A report is far smaller. */
const LARGEST_BYTES = 4 * 1024 * 1024;

const OUTCOMES = ['total', 'matched', 'no_match', 'invalid', 'suppressed', 'failed'] as const;

/**
 * Reads the report at the output's own name; for a dated output those of the days before as well. Null without one. Never throws, because
 * nothing but a comparison depends on it.
 * @param startedAt of this run. Its own report is that of a retry, and no earlier run
 * @param files the input of this run
 */
export async function findPreviousRun(
  { output }: Pick<CompiledJob, 'output'>,
  startedAt: string,
  files: readonly Content[],
): Promise<PreviousRun | null> {
  try {
    for (const uri of [output.uri, ...output.earlier]) {
      const path = reportPath(uri);
      const text = await (await storageOf(path)).readText(path, LARGEST_BYTES);
      const found = text === null ? null : readPrevious(text);
      // A run without rows is no measure for others.
      if (found === null || found.startedAt === startedAt || found.records.total === 0) continue;
      return uri !== output.uri && (await hadInput(uri, found, files)) ? { ...found, sameInput: true } : found;
    }
  } catch {
    // A storage that does not answer stops the run by itself.
  }
  return null;
}

type Content = Pick<InputFile, 'size' | 'digest'>;

/** Whether the checkpoint beside that output is of the run, and has the same content as its input. */
async function hadInput(uri: string, { startedAt }: PreviousRun, files: readonly Content[]): Promise<boolean> {
  const found = await readCheckpoint(`${absolutePlace(uri)}${CHECKPOINT_SUFFIX}`).catch(() => null);
  if (found === null || found.startedAt !== startedAt || files.every(({ size }) => size === 0)) return false;
  const before = found.manifest.files;
  return before.length === files.length && files.every(({ size, digest }, at) => size === before[at]?.size && digest === before[at].digest);
}

/** Null when the text is not the report of a finished run. A run without rows compares with nothing: the one before it stands. */
function readPrevious(text: string): PreviousRun | null {
  const report = parseJson(text);
  if (!isObject(report)) return null;
  const run = finishedRun(report);
  const { previous } = report;
  if (run === null || run.records.total > 0 || !isObject(previous)) return run;
  const { startedAt, finishedAt } = previous;
  // The report of the empty run has no running time of the one before.
  const activeMs = Math.max(0, Date.parse(String(finishedAt)) - Date.parse(String(startedAt)));
  return finishedRun({ ...previous, activeMs }) ?? run;
}

function finishedRun(report: Readonly<Record<string, unknown>>): PreviousRun | null {
  const { startedAt, finishedAt, exitCode, activeMs, records, verification, credits, companies } = report;
  if (typeof startedAt !== 'string' || typeof finishedAt !== 'string' || typeof exitCode !== 'number') return null;
  if (!isCount(activeMs) || !isCount(credits) || !isObject(records) || !isObject(verification)) return null;
  if (!OUTCOMES.every((name) => isCount(records[name])) || !Object.values(verification).every(isCount)) return null;
  const counted = Object.fromEntries(OUTCOMES.map((name) => [name, records[name]]));
  const { skipped } = records;
  return {
    startedAt,
    finishedAt,
    exitCode,
    activeMs,
    records: { ...(counted as PreviousRun['records']), ...(isCount(skipped) ? { skipped } : {}) },
    verification: verification as PreviousRun['verification'],
    ...companiesOf(companies),
    credits,
  };
}

function companiesOf(companies: unknown): Pick<PreviousRun, 'companies'> {
  if (!isObject(companies)) return {};
  const { matched, no_match: missed } = companies;
  return isCount(matched) && isCount(missed) ? { companies: { matched, no_match: missed } } : {};
}

function isCount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0;
}
