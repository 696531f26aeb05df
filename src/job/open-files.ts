import { readdirSync, readFileSync } from 'node:fs';

/** Kept for what a run opens besides its connections: input, checkpoint, report, folders, and the resolver's sockets. */
const SPARE_FILES = 16;

/**
 * How many connections this process may still open under its limit of open files (`ulimit -n`), at least 1; Infinity where
 * the system does not say. A connection to a service in this very process takes two.
 */
export function connectionsAllowed(embedded: boolean): number {
  try {
    const limit = /^Max open files +(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    const left = Number(limit ?? Infinity) - readdirSync('/proc/self/fd').length - SPARE_FILES;
    return Math.max(1, Math.floor(left / (embedded ? 2 : 1)));
  } catch {
    return Infinity;
  }
}
