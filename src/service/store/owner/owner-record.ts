/** The file `STORE.owner`: which process serves a store, for operators and for processes that want it. */
import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { currentBoot, processStart } from '../../../util/process-identity.ts';

export interface OwnerRecord {
  readonly pid: number;
  readonly host: string;
  /** ISO 8601. */
  readonly since: string;
  /** The URL of the service; null while it is starting. */
  readonly url: string | null;
  /** Identifies this ownership. */
  readonly nonce: string;
  readonly machine: string;
  readonly pidSpace: string;
  readonly processStart: string;
}

/** `gone`: the process has ended. `unknown`: it runs in another container of this machine, so its process id means nothing here. */
type Liveness = 'alive' | 'gone' | 'unknown' | 'another machine';

export function thisProcess(nowMs: number): OwnerRecord {
  return {
    pid: process.pid,
    host: hostname(),
    since: new Date(nowMs).toISOString(),
    url: null,
    nonce: randomUUID(),
    ...currentBoot(),
    processStart: processStart(process.pid),
  };
}

export function livenessOf({ pid, host, machine, pidSpace, processStart: start }: OwnerRecord): Liveness {
  const here = currentBoot();
  if (machine !== here.machine || (machine === '' && host !== hostname())) return 'another machine';
  if (pidSpace !== here.pidSpace) return 'unknown';
  return processStart(pid) === start ? 'alive' : 'gone';
}

/** Asks the owner to stop, if its process can be signalled from here. Never throws. */
export function askToStop(owner: OwnerRecord): void {
  if (livenessOf(owner) !== 'alive') return;
  try {
    process.kill(owner.pid, 'SIGTERM');
  } catch {
    // It has just ended, or is another user's; the caller waits for its end.
  }
}

export function recordPath(store: string): string {
  return `${store}.owner`;
}

/** Null: the file is missing or unreadable. */
export async function readRecord(store: string): Promise<OwnerRecord | null> {
  try {
    const value = JSON.parse(await readFile(recordPath(store), 'utf8')) as Partial<OwnerRecord> | null;
    const texts = [value?.host, value?.since, value?.nonce, value?.machine, value?.pidSpace, value?.processStart];
    return texts.every((text) => typeof text === 'string') && Number.isInteger(value?.pid)
      ? { ...(value as OwnerRecord), url: typeof value?.url === 'string' ? value.url : null }
      : null;
  } catch {
    return null;
  }
}

/** Replaces the file atomically. @throws the error of the disk */
export async function writeRecord(store: string, record: OwnerRecord): Promise<void> {
  const temporary = `${recordPath(store)}.${record.nonce.slice(0, 8)}.tmp`;
  try {
    await writeFile(temporary, `${JSON.stringify(record)}\n`, { mode: 0o600 });
    await rename(temporary, recordPath(store));
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
}

/** Removes the file if it is of this ownership. Never throws. */
export async function removeRecord(store: string, { nonce }: OwnerRecord): Promise<void> {
  if ((await readRecord(store))?.nonce === nonce) await rm(recordPath(store), { force: true }).catch(() => undefined);
}

/** Shows other machines that the process is alive, by the file's modification time. @throws the error of the disk */
export async function renewRecord(store: string, nowMs: number): Promise<void> {
  await utimes(recordPath(store), nowMs / 1_000, nowMs / 1_000);
}

/** Changes when the record is renewed or replaced, without use of this machine's clock. Null: the file is missing. */
export async function renewalOf(store: string): Promise<number | null> {
  return (await stat(recordPath(store)).catch(() => null))?.mtimeMs ?? null;
}
