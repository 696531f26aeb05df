/** `millrace ledger`: counts its answers, and removes some of them. */
import { ConfigError, EXIT, type ExitCode } from '../../util/errors.ts';
import { rm } from 'node:fs/promises';
import type { LedgerContents } from '../../ledger/contents.ts';
import { openContents } from '../../ledger/open-contents.ts';
import type { LedgerLocation } from '../../definition/ledger-location.ts';
import type { PurgeFilter } from '../../ledger/purge.ts';
import type { LedgerStats, ScopeStats } from '../../ledger/stats.ts';
import { withoutSecret } from '../../redis/uri.ts';
import { count, printable } from '../../util/display.ts';

/**
 * The ledger of the command, with an absolute path. `maxAgeDays`: 0 when answers of any age count, within one job.
 * `copy`: a working file of this machine that no run uses.
 */
export interface ChosenLedger {
  readonly place: LedgerLocation;
  readonly maxAgeDays: number;
  readonly copy: string | null;
}

/** The name of each kind of answer in the output. */
const KINDS = [
  ['match', 'hit'],
  ['miss', 'miss'],
  ['suppressed', 'suppressed'],
  ['unknown', 'unsettled'],
  ['failed', 'failed'],
] as const;

export async function ledgerStatsCommand({ place, maxAgeDays }: ChosenLedger, options: { json: boolean }): Promise<ExitCode> {
  const path = shownLocation(place);
  const stats = await within(place, (contents) => contents.stats({ maxAgeDays, now: Date.now() }));
  process.stdout.write(options.json ? `${JSON.stringify(statsAsJson(path, maxAgeDays, stats))}\n` : statsAsTable(path, maxAgeDays, stats));
  return EXIT.ok;
}

export async function ledgerPurgeCommand(
  { place, copy }: ChosenLedger,
  filter: PurgeFilter,
  options: { json: boolean },
): Promise<ExitCode> {
  const path = shownLocation(place);
  const { answers, steps, bytes } = await within(place, (contents) => contents.purge(filter));
  for (const suffix of copy === null ? [] : ['', '-wal', '-shm']) await rm(`${copy}${suffix}`, { force: true });
  if (options.json) {
    process.stdout.write(`${JSON.stringify({ ledger: path, purged: answers, steps, bytes })}\n`);
    return EXIT.ok;
  }
  const byStep = Object.entries(steps)
    .map(([step, n]) => `${printable(step)} ${count(n)}`)
    .join(', ');
  process.stdout.write(
    `${count(answers)} ${answers === 1 ? 'answer' : 'answers'} purged${byStep === '' ? '' : ` (${byStep})`} from ${path}: ` +
      `${count(bytes.before)} bytes before, ${count(bytes.after)} now\n`,
  );
  return EXIT.ok;
}

async function within<T>(place: LedgerLocation, work: (contents: LedgerContents) => Promise<T>): Promise<T> {
  try {
    const contents = await openContents(place);
    try {
      return await work(contents);
    } finally {
      contents.close();
    }
  } catch (error) {
    // The usual hint is for a run's own ledger: here it would move away a file that is no ledger.
    throw error instanceof ConfigError && error.code === 'ledger_unreadable'
      ? new ConfigError(error.code, error.message, {
          hint: 'Name the job that the ledger belongs to, or its file with --ledger.',
          cause: error,
        })
      : error;
  }
}

/** The path or uri of a ledger, without a secret. */
function shownLocation(place: LedgerLocation): string {
  return place.kind === 'file' ? place.path : withoutSecret(place.uri);
}

function statsAsJson(path: string, maxAgeDays: number, { bytes, jobs, runs, scopes }: LedgerStats): Record<string, unknown> {
  const all = total(scopes);
  return {
    ledger: path,
    bytes,
    answers: all.answers,
    reusable: all.reusable,
    maxAgeDays,
    oldest: time(all.oldest),
    newest: time(all.newest),
    jobs,
    runs,
    entries: scopes.map(({ origin, step, options, answers, kinds, reusable, oldest, newest }) => ({
      origin,
      step,
      options,
      answers,
      ...Object.fromEntries(KINDS.map(([name, kind]) => [name, kinds[kind]])),
      reusable,
      oldest: time(oldest),
      newest: time(newest),
    })),
  };
}

function statsAsTable(path: string, maxAgeDays: number, { bytes, jobs, runs, scopes }: LedgerStats): string {
  const all = total(scopes);
  const lines = [
    `ledger    ${path}, ${count(bytes)} bytes`,
    `answers   ${count(all.answers)}, of ${count(runs)} ${runs === 1 ? 'run' : 'runs'} of ${count(jobs)} ` +
      (jobs === 1 ? 'job' : 'jobs') +
      (all.answers === 0 ? '' : `; the oldest of ${time(all.oldest)}, the newest of ${time(all.newest)}`),
    `reusable  ${count(all.reusable)}, ` +
      (maxAgeDays > 0 ? `by any job, up to an age of ${count(maxAgeDays)} days` : 'each by later runs of its own job'),
  ];
  if (scopes.length === 0) return `${lines.join('\n')}\n`;
  const head = ['service', 'step', 'answers', ...KINDS.map(([name]) => name), 'reusable'];
  const rows = scopes.map(({ origin, step, options, answers, kinds, reusable }) => [
    printable(origin),
    printable(`${step} ${options}`.trim()),
    count(answers),
    ...KINDS.map(([, kind]) => count(kinds[kind])),
    count(reusable),
  ]);
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (column < 2 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return `${[...lines, '', line(head), ...rows.map(line)].join('\n')}\n`;
}

function total(scopes: readonly ScopeStats[]): { answers: number; reusable: number; oldest: number | null; newest: number | null } {
  const none = scopes.length === 0;
  const all = (name: 'answers' | 'reusable' | 'oldest' | 'newest'): number[] => scopes.map((scope) => scope[name]);
  const sum = (numbers: readonly number[]): number => numbers.reduce((before, n) => before + n, 0);
  return {
    answers: sum(all('answers')),
    reusable: sum(all('reusable')),
    oldest: none ? null : Math.min(...all('oldest')),
    newest: none ? null : Math.max(...all('newest')),
  };
}

function time(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
