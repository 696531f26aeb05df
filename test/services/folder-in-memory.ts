/**
 * Gives the run a temporary folder in memory, where the system has one that is large enough. Tests write and sync thousands of small
 * files, which cost a seventh of their processor time on a disk.
 */
import { accessSync, chmodSync, constants, mkdtempSync, readdirSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const IN_MEMORY = '/dev/shm';
const NAME = /^millrace-tests-(\d+)-/;
/** More than all tests of a run have at once. Containers usually have 64 MiB. */
const LEAST_FREE = 4 * 1024 ** 3;

/** Global set-up of Vitest, before all others: workers and servers inherit the variable. @returns what removes the folder */
export default function makeFolderInMemory(): (() => void) | undefined {
  if (process.env['TMPDIR'] !== undefined || !hasRoom()) return undefined;
  removeLeftOvers();
  const folder = mkdtempSync(join(IN_MEMORY, `millrace-tests-${process.pid}-`));
  // Tests that give up the rights of the superuser list it on the way to their own folders.
  chmodSync(folder, 0o755);
  // Caches that the next run needs stay on the disk.
  process.env['KEPT_TMPDIR'] = tmpdir();
  process.env['TMPDIR'] = folder;
  return () => {
    delete process.env['TMPDIR'];
    rmSync(folder, { recursive: true, force: true });
  };
}

function hasRoom(): boolean {
  try {
    accessSync(IN_MEMORY, constants.W_OK);
    const { bavail, bsize } = statfsSync(IN_MEMORY);
    return bavail * bsize >= LEAST_FREE;
  } catch {
    return false;
  }
}

/** A run that was killed leaves its folder, which would keep the memory. */
function removeLeftOvers(): void {
  for (const name of readdirSync(IN_MEMORY)) {
    const pid = Number(NAME.exec(name)?.[1] ?? NaN);
    if (!Number.isNaN(pid) && !isRunning(pid)) rmSync(join(IN_MEMORY, name), { recursive: true, force: true });
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
