import { readdirSync, readFileSync } from 'node:fs';
import { StorageError } from '../errors.ts';

/** Kept for what a run opens besides its connections: input, checkpoint, report, folders, and the resolver's sockets. */
const SPARE_FILES = 16;

/**
 * How many connections this process may still open under its limit of open files (`ulimit -n`); Infinity where the system
 * does not say. A connection to a service in this very process takes two. @throws StorageError when there is room for none
 */
export function connectionsAllowed(embedded: boolean): number {
  const each = embedded ? 2 : 1;
  try {
    const limit = Number(/^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? Infinity);
    const used = readdirSync('/proc/self/fd').length;
    const allowed = Math.floor((limit - used - SPARE_FILES) / each);
    if (allowed > 0) return allowed;
    throw tooFew(`may open ${limit} files at once (ulimit -n), and needs ${used + SPARE_FILES + each} at the least`);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EMFILE') throw tooFew('has opened as many files as it may (ulimit -n)');
    if (error instanceof StorageError) throw error;
    // Not Linux.
    return Infinity;
  }
}

function tooFew(what: string): StorageError {
  return new StorageError('too_few_files', `this process ${what}`, { hint: 'Permit more, then run the same command: the job resumes.' });
}
