/** The identity of a process in leases: host, process id, and a random part that differs for a later process with the same id. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

/** The last part has no colon and is unique. */
export function newOwner(): string {
  return `${hostname()}:${process.pid}:${randomBytes(6).toString('hex')}`;
}

/** Whether the owner is an ended process of this machine: its lease can be taken at once. False for processes of other machines. */
export function ownerIsGone(owner: string): boolean {
  const [, host, pid] = /^(.*):(\d+):[^:]*$/.exec(owner) ?? [];
  return host === hostname() && Number(pid) !== process.pid && !isRunning(Number(pid));
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
