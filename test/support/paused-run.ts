/**
 * Pauses a run (SIGSTOP) right before a step that changes the disk, lets another run take its job over, and resumes the paused run with its
 * files still open. Used by test/crash and bench/two-runs.ts.
 */
import { execFile } from 'node:child_process';
import { open, readdir, readFile } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { Ended, Folder, Started } from './cli.ts';
import { atStep, type Step } from './crash-chain.ts';
import { ledgerContent } from './crash-site.ts';

export interface NamedStep extends Step {
  readonly name: string;
}

const at = (call: string, file: string, more: Partial<Step> = {}): NamedStep => ({
  name:
    `${call} ${file.replaceAll(/[\\^$]/g, '')}${more.holding === undefined ? '' : ` ${more.holding}`}` +
    ((more.nth ?? 1) > 1 ? ` (${more.nth})` : ''),
  call,
  file,
  nth: 1,
  ...more,
});

const CHECKPOINT = String.raw`^out\.csv\.checkpoint\.json$`;
const CHECKPOINT_TEMPORARY = String.raw`^out\.csv\.checkpoint\.json\.[^.]+\.tmp$`;
const ROWS = String.raw`^out\.csv\.partial`;
const ERRORS = String.raw`^out\.csv\.errors\.jsonl\.partial`;

/** Steps of a run on each of its files, from the first checkpoint to the last. The job has an errors file and several checkpoints. */
export const STEPS: readonly NamedStep[] = [
  at('rename', CHECKPOINT),
  at('exec', '^ledger BEGIN'),
  at('link', `${ROWS}$`),
  at('write', ROWS),
  at('datasync', ROWS),
  at('write', ERRORS),
  at('exec', '^ledger BEGIN', { nth: 6 }),
  at('open', CHECKPOINT_TEMPORARY, { nth: 3 }),
  at('datasync', CHECKPOINT_TEMPORARY, { nth: 3 }),
  at('rename', CHECKPOINT, { nth: 3 }),
  at('rename', CHECKPOINT, { holding: '"state":"finishing"' }),
  at('link', String.raw`^out\.csv\.\*\.tmp$`),
  at('rename', String.raw`^out\.csv$`),
  at('rename', String.raw`${ROWS}\.`),
  at('rename', String.raw`^out\.csv\.errors\.jsonl$`),
  at('rename', String.raw`${ERRORS}\.`),
  at('rename', String.raw`^out\.csv\.report\.json$`),
  at('rename', CHECKPOINT, { holding: '"state":"finished"' }),
];

/** The step of the successor at which the paused run wakes up. Null, or a step that it does not reach: its end. */
export const HEIRS: readonly { readonly name: string; readonly step: Step | null }[] = [
  { name: 'has finished', step: null },
  { name: 'is about to write rows', step: at('write', ROWS) },
  { name: 'is writing its checkpoint', step: at('datasync', CHECKPOINT_TEMPORARY, { nth: 2 }) },
  { name: 'is putting the output in place', step: at('rename', String.raw`^out\.csv$`) },
];

/** Steps at which a successor can be killed before it has replaced every file that another run has open. */
export const TAKING_OVER: readonly NamedStep[] = [
  at('rename', String.raw`\.lock$`),
  at('copyFile', ROWS),
  at('rename', `${ROWS}$`),
  at('write', String.raw`\.lock`),
  at('open', `${ROWS}$`),
  at('write', ROWS),
];

/** A step of a run with rows in its file and more to write. */
export const WRITING = at('write', ROWS, { nth: 2 });
/** Steps at which a resume opens that file and truncates it behind the checkpoint. */
export const CUTTING = [at('open', `${ROWS}$`), at('truncate', ROWS)] as const;
/** At this step a run has rows and checkpoints. */
export const LATER_CHECKPOINT = at('rename', CHECKPOINT, { nth: 4 });
/** Within a transaction, in which SQLite's own lock excludes other processes. */
export const IN_TRANSACTION = at('exec', '^ledger COMMIT', { nth: 6 });

/** Starts a run, and resolves when it is paused right before the step. @throws Error when the run does not reach it */
export async function pausedAt(folder: Folder, args: readonly string[], step: Step): Promise<Started> {
  const holder = folder.start(args, { env: atStep(step, 'SIGSTOP') });
  await standsStill(holder);
  if (holder.child.exitCode !== null)
    throw new Error(`a run ended with ${holder.child.exitCode} before it came to ${JSON.stringify(step)}:\n${(await holder.ended).stderr}`);
  return holder;
}

/** Makes the lease of a lock expire, as another machine would see it a minute later. The holder's process is not checked then. */
export async function age(lock: string): Promise<void> {
  const file = await open(lock, 'r+');
  const aged = JSON.stringify({ ...(JSON.parse(await file.readFile('utf8')) as object), host: 'far-away', renewedAt: Date.now() - 60_000 });
  await file.truncate();
  await file.write(aged, 0);
  await file.close();
}

/** Resumes the run to its end. `changed`: files that differ afterwards. */
export async function wake(folder: Folder, holder: Started, output: string): Promise<Ended & { readonly changed: readonly string[] }> {
  const before = await everything(folder, output);
  holder.kill('SIGCONT');
  const ended = await holder.ended;
  const after = await everything(folder, output);
  return { ...ended, changed: [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name)) };
}

/** Every file by its name and bytes; the ledger by its content. */
async function everything(folder: Folder, output: string): Promise<Map<string, string>> {
  const ledger = `${output}.ledger`;
  const files = (await folder.files()).filter((name) => !name.startsWith(ledger));
  const bytes = await Promise.all(files.map(async (name) => [name, (await readFile(folder.at(name))).toString('latin1')] as const));
  return new Map([...bytes, [ledger, JSON.stringify(await ledgerContent(folder.at(ledger)))]]);
}

/** Resolves when the process is stopped or has ended. */
export async function standsStill({ child }: Started): Promise<void> {
  while (child.exitCode === null && child.signalCode === null) {
    const states = await statesOf(child.pid ?? 0);
    if (states.length > 0 && states.every((state) => state === 'T')) return;
    // Leaves the machine to the observed process between two looks.
    await pause(20);
  }
}

/**
 * The state letter of each thread, as ps(1) shows it. A thread in the middle of a write ends that first. Empty without the process. Read
 * from /proc, because not every Linux has `ps`.
 */
async function statesOf(pid: number): Promise<string[]> {
  if (process.platform !== 'linux')
    return (await promisify(execFile)('ps', ['-o', 'state=', '-p', String(pid)]).catch(() => ({ stdout: '' }))).stdout.match(/^./g) ?? [];
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const stats = await Promise.all(threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/stat`, 'utf8').catch(() => '')));
  return stats.map((stat) => stat.charAt(stat.lastIndexOf(')') + 2));
}
