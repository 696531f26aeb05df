/** Shows errors to the user. */
import { EXIT, MillraceError, StorageError } from '../util/errors.ts';
import type { ExitCode } from '../util/errors.ts';

const RED = '\u001b[31m';
const PLAIN = '\u001b[39m';

/** The text for standard error, and the exit code. An error that Millrace does not know is a bug: 70, with its stack. */
export function describeFailure(error: unknown, colour: boolean): { text: string; exitCode: ExitCode } {
  const head = colour ? `${RED}millrace:${PLAIN}` : 'millrace:';
  if (error instanceof MillraceError) {
    const hint = error.hint === undefined ? '' : `  ${shown(error.hint)}\n`;
    return { text: `${head} ${shown(error.message)}\n${hint}`, exitCode: error.exitCode };
  }
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const text = `${head} this is a bug in Millrace: please report it with the lines below\n${stack}\n`;
  return { text, exitCode: EXIT.bug };
}

/** Names of files and columns come from outside: control characters are shown as JSON writes them. */
function shown(text: string): string {
  return text.replaceAll(/[\0-\x08\x0b-\x1f\x7f-\x9f]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Prints an error and sets the exit code; the process ends by itself once all is closed. */
export function fail(error: unknown): void {
  const { text, exitCode } = describeFailure(error, process.stderr.isTTY && (process.env['NO_COLOR'] ?? '') === '');
  process.stderr.write(text);
  process.exitCode = exitCode;
}

/** An uncaught error ends the process as Node ends it, with its stack, but with the exit code of a bug. */
export function watchForBugs(): void {
  process.once('uncaughtExceptionMonitor', () => {
    process.stderr.write('millrace: this is a bug in Millrace: please report it with the lines below\n');
    process.once('exit', () => {
      process.exitCode = EXIT.bug;
    });
  });
}

/**
 * A closed reader (`| head`) and a closed terminal are not errors. Any other failure of standard output is one of storage; a writer of rows
 * that listens reports it itself.
 */
export function tolerateClosedPipes(): void {
  process.stderr.on('error', () => {});
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || process.stdout.listenerCount('error') > 1) return;
    fail(new StorageError('output_failed', `standard output could not be written: ${error.message}`, { cause: error }));
    // Set again at exit: the command may still end well and set 0.
    process.once('exit', () => {
      process.exitCode = EXIT.storage;
    });
  });
}
