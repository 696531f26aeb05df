/** The job's input, found and frozen, and where standard input is kept while the job needs it. */
import { rename, rm, stat } from 'node:fs/promises';
import { removeFile, type Fence } from '../../storage/fence.ts';
import { ConfigError, InputError, StorageError } from '../../util/errors.ts';
import { describeChange, freezeInput } from '../../reader/freeze.ts';
import { spool } from '../../sources/stdin-spool.ts';
import { KEY_COLUMNS, listNames, meantColumn, PERSON_COLUMNS } from '../../formats/header-aliases.ts';
import type { InputManifest, KeyColumn, PersonColumn } from '../../formats/input-record.ts';
import { pathsIn } from '../../definition/condition/condition.ts';
import { unknownColumn } from '../../processor/cell-reader.ts';
import { columnsRead } from '../../processor/row-filter.ts';
import { resultColumnNames } from '../../writer/result-columns.ts';
import { ownFiles, type JobPaths } from './paths.ts';
import { personColumnsOf } from '../../definition/step-options.ts';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { KEYS } from '../../steps/keys.ts';
import { stepsNeeded } from '../../processor/walk.ts';
import { specOf, type Step } from '../../steps/registry.ts';

/**
 * The job's input as it is now. Standard input lies in a file of its own until `adoptSpool`; the manifest already says where it will be.
 * @throws InputError 65, StorageError 74
 */
export async function freezeJobInput(job: CompiledJob, paths: JobPaths, signal: AbortSignal): Promise<InputManifest> {
  const manifest = await freezeInput({
    ...job.input,
    isOwn: ownFiles(paths),
    reservedColumns: job.output.format === 'jsonl' ? [] : resultColumnNames(job),
    personColumns: personColumnsOf(job.steps, job.options),
    needColumns: job.output.format !== 'jsonl',
    spoolPath: paths.arriving,
    signal,
  });
  checkColumns(job, manifest);
  return withSpoolAt(manifest, paths.spool);
}

type Column = KeyColumn | PersonColumn;

/** The sets of columns with which a step can look a record up. A set is a list of columns of which one each is needed. */
function columnSets(step: Step, { waterfalls }: CompiledJob): readonly (readonly (readonly Column[])[])[] {
  const own = (waterfalls[step]?.keys ?? []).flat().filter((source) => typeof source === 'string');
  const kinds = [...new Set([...own, ...(specOf(step).takesDomainOfAddress ? (['email'] as const) : [])])];
  // A first name alone names nobody.
  return kinds.map((kind) => KEYS[kind].parts.map((columns) => columns.filter((column) => column !== 'first_name')));
}

/** Refuses an input without the columns that the job needs or names, before anything is paid for. @throws InputError 65 */
function checkColumns(job: CompiledJob, manifest: InputManifest): void {
  const { steps, input, output } = job;
  const { format, files, columns, keyName } = manifest;
  if (columns.length === 0 || files.every(({ header }) => header.length === 0)) return;
  const found = (key: Column): boolean => (keyName[key] ?? null) !== null || files.some(({ keys }) => (keys[key] ?? null) !== null);
  for (const step of format === 'jsonl' || ![...KEY_COLUMNS, ...PERSON_COLUMNS].some(found) ? [] : steps) {
    const sets = columnSets(step, job);
    // An earlier step may find the key.
    if (sets.some((set) => set.every((any) => any.some(found))) || stepsNeeded(step, job).length > 0) continue;
    const wanted = sets.map((set) => set.map(([one]) => one).join(' with '));
    throw new InputError(
      'input_no_columns',
      `The input has no column of ${wanted.join(' or ')} for the step ${step}: it has ${listNames(columns)}.`,
      {
        hint: `Name it with ${[...new Set(sets.flat(2))].map((key) => `--input.columns.${key}`).join(' or ')}, or choose other --steps.`,
      },
    );
  }
  for (const [step, { root }] of format === 'jsonl' ? [] : Object.entries(job.conditions)) {
    const names = pathsIn(root).flatMap(({ path: [first, ...name] }) => (first === 'input' ? [name.join('.')] : []));
    const missing = unknownColumn(manifest, names);
    if (missing === null) continue;
    throw new ConfigError(
      'bad_condition',
      `${step}.when names input.${missing}, and the input has no such column${meantColumn(missing, columns)} It has ${listNames(columns)}.`,
      { hint: 'Write the name of a column, in quotes where it has spaces: input."Job Title".' },
    );
  }
  const unknown = format === 'jsonl' ? null : unknownColumn(manifest, columnsRead(input.where));
  if (unknown !== null) {
    throw new InputError(
      'input_no_columns',
      `input.where names ${JSON.stringify(unknown)}, and the input has no such column` +
        `${meantColumn(unknown, columns)} It has ${listNames(columns)}.`,
      { hint: `Write the name of a column, or ${KEY_COLUMNS.join(', ')} where the input has such a key.` },
    );
  }
  for (const path of Object.values(output.fields ?? {})) {
    if (format === 'jsonl' || !path.startsWith('input.') || columns.includes(path.slice('input.'.length))) continue;
    throw new InputError(
      'input_no_columns',
      `output.fields names ${path}, and the input has no such column` +
        `${meantColumn(path.slice('input.'.length), columns)} It has ${listNames(columns)}.`,
      { hint: 'Write the name as it stands in the header, to the letter.' },
    );
  }
}

/**
 * Compares the frozen input with the input of now. The same command gives standard input again; when it is empty, the spool of the last
 * run serves.
 * @returns `manifest`: the same input, read from where it lies now. `changed`: a sentence, or null when it is the same
 */
export async function changedSince(
  frozen: InputManifest,
  paths: JobPaths,
  signal: AbortSignal,
): Promise<{ manifest: InputManifest; changed: string | null }> {
  if (!readsStandardInput(frozen) || process.stdin.isTTY) return { manifest: frozen, changed: await describeChange(frozen, signal) };
  // A second call finds the spool complete.
  const arrived = await stat(paths.arriving).catch(() => null);
  if (arrived === null) await spool(process.stdin, paths.arriving, signal);
  const { size } = arrived ?? (await stat(paths.arriving));
  if (size === 0 && spooledBytes(frozen) > 0) {
    await dropArriving(paths);
    return { manifest: frozen, changed: await describeChange(frozen, signal) };
  }
  return { manifest: withSpoolAt(frozen, paths.spool), changed: await describeChange(withSpoolAt(frozen, paths.arriving), signal) };
}

export function readsStandardInput(manifest: InputManifest): boolean {
  return manifest.files.some(({ uri }) => uri === '-');
}

/** Bytes that came from standard input. */
export function spooledBytes(manifest: InputManifest): number {
  return manifest.files.find(({ uri }) => uri === '-')?.size ?? 0;
}

/**
 * Gives the copy of standard input its name, once the run is sure to use it. `fence`: null where the folder is the run's alone.
 * @throws StorageError, or 75 when the job was lost
 */
export async function adoptSpool(paths: JobPaths, fence: Fence | null): Promise<void> {
  await fence?.check();
  try {
    await rename(paths.arriving, paths.spool);
  } catch (error) {
    // Nothing came on standard input, or the scratch folder was never needed.
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return;
    throw new StorageError('spool_failed', `Standard input could not be kept in ${paths.spool}: ${(error as Error).message}`, {
      hint: 'Name another folder with --scratch, and run again.',
      cause: error,
    });
  }
}

/** Removes a copy of standard input that was not adopted. Never throws. */
export async function dropArriving(paths: JobPaths): Promise<void> {
  await rm(paths.arriving, { force: true }).catch(() => undefined);
}

/** Removes the copy of standard input: the job is finished. */
export async function dropSpool(manifest: InputManifest, fence: Fence): Promise<void> {
  for (const { uri, path } of manifest.files) if (uri === '-') await removeFile(path, fence);
}

function withSpoolAt(manifest: InputManifest, path: string): InputManifest {
  return { ...manifest, files: manifest.files.map((file) => (file.uri === '-' ? { ...file, path } : file)) };
}
