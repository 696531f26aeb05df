/** `millrace ledger stats | purge` */
import { resolve } from 'node:path';
import { currentHolder } from '../../lock/job-lock.ts';
import { UsageError } from '../../util/errors.ts';
import type { ExitCode } from '../../util/errors.ts';
import { parseAge } from '../../job/commands/age.ts';
import { chooseLedger, LEDGER_FLAGS } from '../../definition/ledger-choice.ts';
import { runDay } from '../../definition/expand.ts';
import { variableOf } from '../../definition/flags.ts';
import { repeated, valueless, type FlagValue } from '../../definition/layers.ts';
import { didYouMean, nearest } from '../../util/nearest.ts';
import { compileRunOptions } from '../../definition/run-options.ts';
import type { ChosenLedger } from '../../job/commands/ledger-command.ts';
import { jobLedger, jobPaths } from '../../job/lifecycle/paths.ts';
import { ledgerLocation } from '../../definition/ledger-location.ts';
import { verifyKey } from '../../processor/lookup-keys.ts';
import type { Invocation } from '../invocation.ts';
import { readJob } from '../read-job.ts';

const ACTIONS = ['stats', 'purge'] as const;
/** Flags of these commands and not of a job. */
const OWN_FLAGS: readonly string[] = ['date', 'json', 'email', 'older-than'];

/** Needs neither API key nor service. */
export async function ledger(invocation: Invocation): Promise<ExitCode> {
  const action = ACTIONS.find((name) => name === invocation.action);
  if (action === undefined) throw unknownAction(invocation.action);
  const json = invocation.flags.get('json') === true || !process.stdout.isTTY;
  // The choice of the ledger comes first: it reports a mistyped flag, where the filter would report a missing one.
  const chosen = await chosenLedger(action, invocation);
  const filter = action === 'purge' ? readFilter(invocation.flags) : null;
  const { ledgerPurgeCommand, ledgerStatsCommand } = await import('../../job/commands/ledger-command.ts');
  return filter === null ? ledgerStatsCommand(chosen, { json }) : ledgerPurgeCommand(chosen, filter, { json });
}

function unknownAction(word: string | null): UsageError {
  const hint = 'millrace ledger stats says what is in a ledger, millrace ledger purge takes answers out of it.';
  if (word === null) return new UsageError('unknown_command', 'millrace ledger needs to know what to do: stats or purge', { hint });
  return new UsageError('unknown_command', `There is no command "ledger ${word.slice(0, 80)}"${didYouMean(nearest(word, ACTIONS))}`, {
    hint,
  });
}

function readFilter(flags: Invocation['flags']): { email: string | null; before: number | null } {
  const address = textOf(flags, 'email', 'an e-mail address');
  const age = textOf(flags, 'older-than', 'an age, such as 90d');
  if (address === null && age === null)
    throw new UsageError('nothing_to_purge', 'Nothing says which answers to purge', {
      hint: 'Say --email ADDRESS, --older-than 90d, or both for what meets both. To drop all of them, delete the file.',
    });
  const email = address === null ? null : verifyKey(address);
  if (address !== null && (email === null || !email.includes('@')))
    throw new UsageError('bad_value', `--email must be an e-mail address, got ${JSON.stringify(address.slice(0, 80))}`);
  return { email, before: age === null ? null : timeBefore(parseAge('older-than', age)) };
}

/** Answers of any age may be dated after now, by a clock that was wrong. */
function timeBefore(ageMs: number): number {
  return ageMs === 0 ? Infinity : Date.now() - ageMs;
}

function textOf(flags: Invocation['flags'], flag: string, expected: string): string | null {
  const value = flags.get(flag);
  if (value === undefined) return null;
  if (Array.isArray(value)) throw repeated(flag);
  if (typeof value !== 'string' || value === '') throw valueless(flag, expected);
  return value;
}

/** The job's ledger, where flags or variables name a job; else the one of --ledger or its variable. */
async function chosenLedger(action: (typeof ACTIONS)[number], invocation: Invocation): Promise<ChosenLedger> {
  const { env, flags } = invocation;
  const ofJob = [...flags.keys()].filter((flag) => !OWN_FLAGS.includes(flag));
  if (invocation.job === null && ofJob.every((flag) => LEDGER_FLAGS.includes(flag))) {
    const { date } = compileRunOptions(env, new Map([...flags].filter(([flag]) => flag === 'date')));
    const named = new Map<string, FlagValue>([...flags].filter(([flag]) => LEDGER_FLAGS.includes(flag)));
    const chosen = chooseLedger({ env, flags: named, day: runDay(date, new Date()) });
    if (chosen !== null) return { place: ledgerLocation(chosen.uri, resolve(chosen.uri)), maxAgeDays: chosen.maxAgeDays, copy: null };
    if ((env[variableOf('output')] ?? '') === '')
      throw new UsageError('no_ledger', 'Nothing says which ledger is meant', {
        hint: 'Name the job that it belongs to, or its file: --ledger FILE.',
      });
  }
  const { job } = await readJob(`ledger ${action}`, invocation);
  if (job.ledger.uri === '')
    throw new UsageError('no_ledger', 'A run to standard output keeps no ledger unless one is named', {
      hint: 'Name its file: --ledger FILE.',
    });
  const paths = jobPaths(job, { scratch: null });
  const runs = action === 'purge' && job.output.uri !== '-' && (await warnOfRun(paths.lock));
  const place = jobLedger(job, paths);
  return { place, maxAgeDays: job.ledger.maxAgeDays, copy: place.kind === 'file' || runs ? null : place.path };
}

/** Warns when a run holds the job; true then. */
async function warnOfRun(lock: string): Promise<boolean> {
  const holder = await currentHolder(lock, Date.now());
  if (holder === null) return false;
  process.stderr.write(
    `millrace: the job is running (process ${holder.pid} on ${holder.host}): ` +
      'what it is told from now on is kept. Purge again once it has ended.\n',
  );
  return true;
}
