/** Identifies a process, and tells it from a later process with the same id. */
import { readFileSync, readlinkSync } from 'node:fs';

/** The boot of the kernel and the namespace of process ids. Both are empty where the system does not tell them. */
interface Boot {
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
 * The start time of a process in kernel ticks: field 22 of /proc/PID/stat (proc(5)). Without /proc, a fixed text if the process exists.
 * Empty when the process does not exist.
 */
export function processStart(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    // State Z: a zombie, which is dead and waits for its parent.
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
