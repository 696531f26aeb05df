/** The holder of a job, as the lock file describes it. */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { MillraceError, StorageError, storageHint } from '../util/errors.ts';
import { currentBoot, processStart } from '../util/process-identity.ts';

/** Milliseconds. A holder that has not renewed the lock for this long has lost the job. */
export const LEASE_MS = 30_000;

/** The run that holds a job. */
export interface Holder {
  readonly nonce: string;
  readonly host: string;
  /** The boot of the machine. Process ids are comparable only within one boot and one container. */
  readonly boot: string;
  readonly pid: number;
  /** Start of that process in kernel ticks, because process ids are reused. */
  readonly processStart: string;
  readonly since: string;
  readonly renewedAt: number;
  /** True when the previous holder may come back and may have files of the job open. Those files must not be shared. */
  readonly overtook: boolean;
}

/** Null when the lock does not exist. */
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

/** The same, synchronously. Null also when the disk fails. */
export function readHolderNow(path: string): Holder | null {
  try {
    return parseHolder(readFileSync(path, 'utf8'));
  } catch {
    return null;
  }
}

/** A foreign file counts as a holder that renewed when the file was written. */
export function unknownHolder(text: string, written: Date): Holder {
  return {
    nonce: text,
    host: 'an unknown host',
    boot: '',
    pid: 0,
    processStart: '',
    since: written.toISOString(),
    renewedAt: written.getTime(),
    overtook: true,
  };
}

/** Null when the text describes no holder. */
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
 * True when the lock may be taken at once: the holder is dead or, on another machine, has not renewed for a lease.
 * On this machine the process table decides, so a clock that was set does not matter.
 */
export function isStale(holder: Holder, now: number): boolean {
  return isHere(holder) ? isDead(holder) : now - holder.renewedAt > LEASE_MS;
}

function isHere(holder: Holder): boolean {
  return holder.host === hostname() && holder.boot === bootId();
}

/** True when the holder ran on this machine and its process has ended. */
export function isDead(holder: Holder): boolean {
  return isHere(holder) && processStart(holder.pid) !== holder.processStart;
}

export function ourselves(now: number): Holder {
  return {
    nonce: randomUUID(),
    host: hostname(),
    boot: bootId(),
    pid: process.pid,
    processStart: processStart(process.pid),
    since: new Date(now).toISOString(),
    renewedAt: now,
    overtook: false,
  };
}

function bootId(): string {
  const { machine, pidSpace } = currentBoot();
  return machine === '' ? '' : `${machine} ${pidSpace}`;
}

export function lockFailed(path: string, what: 'written' | 'read', error: unknown): MillraceError {
  if (error instanceof MillraceError) return error;
  return new StorageError('lock_failed', `the lock ${path} could not be ${what}: ${(error as Error).message}`, {
    hint: storageHint(error),
    cause: error,
  });
}
