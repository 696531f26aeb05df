/** Who holds a job, as a lock file says it. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { MillraceError, StorageError, storageHint } from '../errors.ts';
import { currentBoot, processStart } from '../process-identity.ts';

/** A holder that has not renewed for this long has lost the job. */
export const LEASE_MS = 30_000;

/** Who holds a job. */
export interface Holder {
  readonly nonce: string;
  readonly host: string;
  /** Tells two starts of one machine, and two containers of one name, apart: only within it does `pid` mean anything. */
  readonly boot: string;
  readonly pid: number;
  /** When that process started, in the kernel's ticks: a process id alone is used again. */
  readonly processStart: string;
  readonly since: string;
  readonly renewedAt: number;
  /** It took over from one that may come back, and that may still have the job's files open: they must not be shared. */
  readonly overtook: boolean;
}

/** Null when it is gone. */
export async function readHolder(path: string): Promise<Holder | null> {
  try {
    const text = await readFile(path, 'utf8');
    const { mtime } = await stat(path);
    return parseHolder(text) ?? unknownHolder(text, mtime);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw lockFailed(path, 'read', error);
  }
}

/** The same without waiting; null also when the disk does not say. */
export function readHolderNow(path: string): Holder | null {
  try {
    return parseHolder(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** A foreign file counts as a holder that last renewed when it was written. */
export function unknownHolder(text: string, written: Date): Holder {
  return { nonce: text, host: 'an unknown host', boot: '', pid: 0, processStart: '', since: written.toISOString(), renewedAt: written.getTime(), overtook: true };
}

/** Null: it is no holder's. */
export function parseHolder(text: string): Holder | null {
  try {
    const value = JSON.parse(text) as Partial<Holder> | null;
    const texts = [value?.nonce, value?.host, value?.boot, value?.processStart, value?.since];
    const whole = texts.every((part) => typeof part === 'string') && typeof value?.pid === 'number' && typeof value.renewedAt === 'number';
    return whole ? { ...(value as Holder), overtook: value.overtook === true } : null;
  } catch {
    return null;
  }
}

/**
 * Its place may be taken at once: it is dead, or on another machine has not renewed for a lease. Of a process of this
 * machine it is known whether it lives, and a clock that was set says nothing against it.
 */
export function isStale(holder: Holder, now: number): boolean {
  return isHere(holder) ? isDead(holder) : now - holder.renewedAt > LEASE_MS;
}

function isHere(holder: Holder): boolean {
  return holder.host === hostname() && holder.boot === bootId();
}

/** It ran on this machine, and is gone for certain. */
export function isDead(holder: Holder): boolean {
  return isHere(holder) && processStart(holder.pid) !== holder.processStart;
}

export function ourselves(now: number): Holder {
  return { nonce: randomUUID(), host: hostname(), boot: bootId(), pid: process.pid, processStart: processStart(process.pid), since: new Date(now).toISOString(), renewedAt: now, overtook: false };
}

function bootId(): string {
  const { machine, pidSpace } = currentBoot();
  return machine === '' ? '' : `${machine} ${pidSpace}`;
}

export function lockFailed(path: string, what: 'written' | 'read', error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  return new StorageError('lock_failed', `the lock ${path} could not be ${what}: ${(error as Error).message}`, { hint: storageHint(error), cause: error });
}
