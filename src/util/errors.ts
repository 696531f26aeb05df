/**
 * Errors that end a run, each with its exit code of the contract and a message for the user.
 * An error that concerns one record does not belong here: it becomes the outcome of that record.
 */

/** Exit codes a scheduler may rely on; `docs/exit-codes.md` explains each. */
export const EXIT = {
  ok: 0,
  tooManyFailed: 1,
  usage: 64,
  input: 65,
  unavailable: 69,
  bug: 70,
  storage: 74,
  stopped: 75,
  refused: 77,
  config: 78,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * A failure that ends the run.
 * `message` states what happened and where (file and line, or key). `hint` states what to do next.
 */
export class MillraceError extends Error {
  override readonly name: string = 'MillraceError';
  readonly exitCode: ExitCode;
  /** Stable, snake_case, for scripts and logs. */
  readonly code: string;
  readonly hint: string | undefined;

  constructor(exitCode: ExitCode, code: string, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.exitCode = exitCode;
    this.code = code;
    this.hint = options.hint;
  }
}

/** The same error for a command that has no job to resume. @param instead what a second run does, as text after a colon */
export function withoutResume({ exitCode, code, message, hint, cause }: MillraceError, instead: string | null = null): MillraceError {
  const plain = hint?.replace(/: the job resumes(?: where it stopped)?\.$/, instead === null ? '.' : `: ${instead}.`);
  return new MillraceError(exitCode, code, message, { ...(plain === undefined ? {} : { hint: plain }), cause });
}

/**
 * The same error for a job with `{date}`: after midnight the same command is that of another day.
 * @param day YYYY-MM-DD
 */
export function onDay({ exitCode, code, message, hint = '', cause }: MillraceError, day: string): MillraceError {
  const again = /\bthe same command\b(?! with)/i;
  const named = again.test(hint)
    ? hint.replace(again, (words) => `${words} with --date ${day}`)
    : `${hint}${hint === '' ? '' : ' '}With --date ${day} the same command resumes.`;
  return new MillraceError(exitCode, code, message, { hint: named, cause });
}

/** Bad flags: exit 64. */
export class UsageError extends MillraceError {
  override readonly name = 'UsageError';
  constructor(code: string, message: string, options?: { hint?: string; cause?: unknown }) {
    super(EXIT.usage, code, message, options);
  }
}

/** A job whose definition cannot be run: exit 78. */
export class ConfigError extends MillraceError {
  override readonly name = 'ConfigError';
  constructor(code: string, message: string, options?: { hint?: string; cause?: unknown }) {
    super(EXIT.config, code, message, options);
  }
}

/** Input that is missing, unreadable, unusable or changed, or an output of another job: exit 65. */
export class InputError extends MillraceError {
  override readonly name = 'InputError';
  constructor(code: string, message: string, options?: { hint?: string; cause?: unknown }) {
    super(EXIT.input, code, message, options);
  }
}

/** A disk or S3 failed while reading or writing: exit 74, resumable. */
export class StorageError extends MillraceError {
  override readonly name = 'StorageError';
  constructor(code: string, message: string, options?: { hint?: string; cause?: unknown }) {
    super(EXIT.storage, code, message, options);
  }
}

/**
 * Advice for the user about a failure of a disk or of S3. The errno(3) identifies a failure of a disk; a failure of S3 has its own remedy.
 * @param then what the same command does afterwards
 */
export function storageHint(error: unknown, then = 'the job resumes'): string {
  const { code, remedy } = (error ?? {}) as { readonly code?: unknown; readonly remedy?: unknown };
  return `${typeof remedy === 'string' ? remedy : remedyFor(code)}, then run the same command: ${then}.`;
}

/**
 * The error for standard output that cannot be written: its reader has exited, or the disk behind it fails.
 * @param hint what to do when the reader has exited
 */
export function standardOutputFailure(error: NodeJS.ErrnoException, hint: string): StorageError {
  return error.code === 'EPIPE'
    ? new StorageError('output_closed', `standard output was closed before the last row: ${error.message}`, { hint })
    : new StorageError('output_failed', `standard output could not be written: ${error.message}`, {
        hint: storageHint(error, 'it starts over'),
        cause: error,
      });
}

function remedyFor(code: unknown): string {
  switch (code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return 'Free some space';
    case 'EROFS':
    case 'EACCES':
    case 'EPERM':
      return 'Permit writing there';
    case 'ENOENT':
    case 'ENOTDIR':
      return 'Put the folder back';
    case 'EMFILE':
    case 'ENFILE':
      return 'Permit more open files (ulimit -n), or lower --concurrency';
    case 'EIO':
      return 'Mend the disk';
    default:
      return 'Free the disk or mend the folder';
  }
}
