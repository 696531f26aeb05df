/** Who serves a store, as the file `STORE.owner` says it: for people, and for a process that wants the store. */
import { randomUUID } from 'node:crypto';
import { readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { currentBoot, processStart } from '../../process-identity.ts';

export interface OwnerRecord {
  readonly pid: number;
  readonly host: string;
  /** ISO 8601. */
  readonly since: string;
  /** Where it answers; null: it is starting. */
  readonly url: string | null;
  /** Of this one ownership: no other has it. */
  readonly nonce: string;
  readonly machine: string;
  readonly pidSpace: string;
  readonly processStart: string;
}

/** `gone`: the process has ended. `unknown`: it is in another container of this machine, and its process id says nothing here. */
export type Whereabouts = 'alive' | 'gone' | 'unknown' | 'another machine';

export function thisProcess(nowMs: number): OwnerRecord {
  return { pid: process.pid, host: hostname(), since: new Date(nowMs).toISOString(), url: null, nonce: randomUUID(), ...currentBoot(), processStart: processStart(process.pid) };
}

export function whereabouts({ pid, host, machine, pidSpace, processStart: start }: OwnerRecord): Whereabouts {
  const here = currentBoot();
  if (machine !== here.machine || (machine === '' && host !== hostname())) return 'another machine';
  if (pidSpace !== here.pidSpace) return 'unknown';
  return processStart(pid) === start ? 'alive' : 'gone';
}

/** Asks an owner for the store, where its process can be reached from here. Never throws. */
export function askToStop(owner: OwnerRecord): void {
  if (whereabouts(owner) !== 'alive') return;
  try {
    process.kill(owner.pid, 'SIGTERM');
  } catch {
    // It has just ended, or is another user's: then it is waited for.
  }
}

export function recordPath(store: string): string {
  return `${store}.owner`;
}

/** Null: there is none, or it cannot be read. */
export async function readRecord(store: string): Promise<OwnerRecord | null> {
  try {
    const value = JSON.parse(await readFile(recordPath(store), 'utf8')) as Partial<OwnerRecord> | null;
    const texts = [value?.host, value?.since, value?.nonce, value?.machine, value?.pidSpace, value?.processStart];
    return texts.every((text) => typeof text === 'string') && Number.isInteger(value?.pid) ? { ...(value as OwnerRecord), url: typeof value?.url === 'string' ? value.url : null } : null;
  } catch {
    return null;
  }
}

/** Replaces the file, so that nobody reads half of it. @throws what the disk says */
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

/** Removes it, if it is of this ownership. Never throws. */
export async function removeRecord(store: string, { nonce }: OwnerRecord): Promise<void> {
  if ((await readRecord(store))?.nonce === nonce) await rm(recordPath(store), { force: true }).catch(() => undefined);
}

/** Says that its process is alive: to other machines, which see the time of the file change. @throws what the disk says */
export async function renewRecord(store: string, nowMs: number): Promise<void> {
  await utimes(recordPath(store), nowMs / 1_000, nowMs / 1_000);
}

/** Changes when the record is renewed or replaced; by no clock of this machine. Null: there is none. */
export async function renewalOf(store: string): Promise<number | null> {
  return (await stat(recordPath(store)).catch(() => null))?.mtimeMs ?? null;
}
