/** `millrace jobs`: the jobs whose checkpoints lie in a folder. */
import { readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { readCheckpoint, type Checkpoint } from '../../checkpoint/checkpoint-file.ts';
import { CHECKPOINT_SUFFIX } from '../../definition/compile-job.ts';
import { currentHolder } from '../../lock/job-lock.ts';
import { count, duration, printable } from '../../util/display.ts';
import { mapConcurrently } from '../../util/map-concurrently.ts';
import { EXIT, InputError, type ExitCode } from '../../util/errors.ts';
import { tableLines } from '../../util/text-table.ts';
import { answeredKinds, kindRates, percent } from '../../writer/rates.ts';
import { SHARD_MARK } from '../lifecycle/paths.ts';

/** Folders below the first that are looked into, and entries at most. */
const DEPTH = 3;
const MOST_ENTRIES = 100_000;
/** Checkpoints that are read at once. Each may list many input files. */
const AT_ONCE = 16;

/** A job in the list. */
interface ListedJob {
  readonly job: string;
  readonly state: 'running' | 'stopped' | 'finished' | 'unreadable';
  readonly exitCode: number | null;
  readonly records: number;
  readonly failed: number;
  /** Rows that lack a field because a provider gave no answer. */
  readonly open: number;
  /** Shares, 0 to 1; null without an answered record of the kind. */
  readonly peopleMatched: number | null;
  readonly companiesMatched: number | null;
  readonly credits: number;
  /** RFC 3339; null when the checkpoint cannot be read. */
  readonly updatedAt: string | null;
  readonly output: string;
  readonly checkpoint: string;
}

/** Lists the jobs, the one that was active last first. @param room columns of the terminal @throws InputError without such a folder */
export async function jobsCommand(folder: string, { json, room }: { readonly json: boolean; readonly room: number }): Promise<ExitCode> {
  const found = await mapConcurrently(await checkpointsIn(folder), AT_ONCE, (path) => listed(folder, path));
  const jobs = found.toSorted((one, other) => ((one.updatedAt ?? '') < (other.updatedAt ?? '') ? 1 : -1));
  if (json) {
    process.stdout.write(`${JSON.stringify(jobs)}\n`);
    return EXIT.ok;
  }
  if (jobs.length === 0) {
    process.stdout.write(`No job has a checkpoint in ${folder} or up to ${DEPTH} folders below it.\n`);
    return EXIT.ok;
  }
  const lines = tableLines(tableOf(jobs, Date.now()), room);
  process.stdout.write(`${lines.join('\n')}\n`);
  return EXIT.ok;
}

type TableColumn = [name: string, cell: (job: ListedJob) => string];

/** The match rate of a kind has a column where a job has the kind, and open rows where a job has some. */
function tableOf(jobs: readonly ListedJob[], now: number): string[][] {
  const columns: readonly TableColumn[] = [
    ['job', ({ job }) => job],
    ['state', ({ state, exitCode }) => (state === 'finished' && exitCode !== 0 ? `finished (${exitCode})` : state)],
    ['active', ({ updatedAt }) => (updatedAt === null ? '' : `${duration(Math.max(0, now - Date.parse(updatedAt)))} ago`)],
    ['rows', ({ records }) => count(records)],
    ...rateColumn('people', jobs, ({ peopleMatched }) => peopleMatched),
    ...rateColumn('companies', jobs, ({ companiesMatched }) => companiesMatched),
    ['failed', ({ failed }) => count(failed)],
    ...(jobs.some(({ open }) => open > 0) ? [['open', ({ open }) => count(open)] satisfies TableColumn] : []),
    ['credits', ({ credits }) => count(credits)],
    ['output', ({ output }) => output],
  ];
  return [columns.map(([name]) => name), ...jobs.map((job) => columns.map(([, cell]) => cell(job)))];
}

function rateColumn(name: string, jobs: readonly ListedJob[], rateOf: (job: ListedJob) => number | null): TableColumn[] {
  const cell = (job: ListedJob): string => {
    const rate = rateOf(job);
    return rate === null ? '' : percent(rate);
  };
  return jobs.some((job) => rateOf(job) !== null) ? [[name, cell]] : [];
}

async function listed(folder: string, path: string): Promise<ListedJob> {
  const checkpoint = relative(folder, path);
  const unanswered = { failed: 0, open: 0, peopleMatched: null, companiesMatched: null };
  const unknown = { exitCode: null, records: 0, ...unanswered, credits: 0, updatedAt: null };
  const output = checkpoint.slice(0, -CHECKPOINT_SUFFIX.length);
  const found = await readCheckpoint(path).catch(() => null);
  if (found === null) return { job: printable(output), state: 'unreadable', ...unknown, output, checkpoint };
  const tally = (found.result?.tally ?? found.mark.tally) satisfies Checkpoint['mark']['tally'];
  const { total, outcomes, open = 0 } = tally;
  const rates = new Map(kindRates(answeredKinds(tally)).map(({ kind, rate }) => [kind, rate]));
  return {
    job: printable(found.job),
    state: found.state === 'finished' ? 'finished' : (await currentHolder(`${path}.lock`, Date.now())) === null ? 'stopped' : 'running',
    exitCode: found.exitCode,
    records: total,
    failed: outcomes.failed,
    open,
    peopleMatched: rates.get('people') ?? null,
    companiesMatched: rates.get('companies') ?? null,
    credits: found.totals.credits,
    updatedAt: found.updatedAt,
    output: printable(output),
    checkpoint,
  };
}

/** Checkpoints of whole jobs. Hidden folders and packages are left out. */
async function checkpointsIn(folder: string): Promise<string[]> {
  const found: string[] = [];
  let entries = 0;
  let level = [folder];
  for (let depth = 0; depth <= DEPTH && level.length > 0; depth++) {
    const next: string[] = [];
    for (const path of level) {
      for (const entry of await entriesOf(path, depth === 0)) {
        if (++entries > MOST_ENTRIES) return found;
        const whole = join(path, entry.name);
        if (entry.isDirectory() && !entry.name.startsWith('.') && entry.name !== 'node_modules') next.push(whole);
        else if (entry.isFile() && entry.name.endsWith(CHECKPOINT_SUFFIX) && !entry.name.includes(SHARD_MARK)) found.push(whole);
      }
    }
    level = next;
  }
  return found;
}

async function entriesOf(folder: string, isFirst: boolean) {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (!isFirst) return [];
    throw new InputError('no_folder', `${folder} cannot be read: ${(error as NodeJS.ErrnoException).code}`, {
      hint: 'Name another folder.',
    });
  }
}
