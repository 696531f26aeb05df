/** What tells one process from any other, also from a later one with the same number. */
import { readFileSync, readlinkSync } from 'node:fs';

/** The kernel's boot, and the space in which process ids mean something; empty where the system does not say. */
export interface Boot {
  readonly machine: string;
  /** Containers share the kernel and may share a name, but not their process ids (pid_namespaces(7)). */
  readonly pidSpace: string;
}

export function currentBoot(): Boot {
  try {
    return { machine: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(), pidSpace: readlinkSync('/proc/self/ns/pid') };
  } catch {
    return { machine: '', pidSpace: '' };
  }
}

/**
 * When a process started, in the kernel's ticks: field 22 of /proc/PID/stat (proc(5)); elsewhere whether it exists at all. Empty: no such process.
 */
export function processStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // State Z: dead, and only waiting for its parent to notice.
    return fields[0] === 'Z' ? '' : (fields[19] ?? '');
  } catch {
    if (process.platform === 'linux') return '';
  }
  try {
    process.kill(pid, 0);
    return 'alive';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM' ? 'alive' : '';
  }
}
