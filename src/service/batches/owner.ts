/** Who works on the jobs of a store: a process of a machine, told apart from whoever has its number later. */
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

/** The last part has no colon, and is in no other name. */
export function newOwner(): string {
  return `${hostname()}:${process.pid}:${randomBytes(6).toString('hex')}`;
}

/** Whether it is a process of this machine that has ended: then nobody need wait for its lease to run out. Of other machines nobody knows. */
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
