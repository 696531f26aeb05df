/** Finds the run of the same job before this one: by its report, which is overwritten only when this one has finished. */
import type { PreviousRun } from '../../checkpoint/previous-run.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { storageOf } from '../../storage/storage-of.ts';
import { isObject } from '../../util/is-object.ts';
import { reportPath } from './paths.ts';
import { parseJson } from '../../util/parse-json.ts';

/** Bytes. A report is far smaller. */
const LARGEST_BYTES = 4 * 1024 * 1024;

const OUTCOMES = ['total', 'matched', 'no_match', 'invalid', 'suppressed', 'failed'] as const;

/**
 * Reads the report at the output's own name; for a dated output those of the days before as well. Null without one. Never throws, because
 * nothing but a comparison depends on it.
 * @param startedAt of this run. Its own report is that of a retry, and no earlier run
 */
export async function findPreviousRun({ output }: Pick<CompiledJob, 'output'>, startedAt: string): Promise<PreviousRun | null> {
  try {
    for (const uri of [output.uri, ...output.earlier]) {
      const path = reportPath(uri);
      const text = await (await storageOf(path)).readText(path, LARGEST_BYTES);
      const found = text === null ? null : readPrevious(text);
      if (found !== null && found.startedAt !== startedAt) return found;
    }
  } catch {
    // A storage that does not answer stops the run by itself.
  }
  return null;
}

/** Null when the text is not the report of a finished run. */
function readPrevious(text: string): PreviousRun | null {
  const report = parseJson(text);
  if (!isObject(report)) return null;
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
