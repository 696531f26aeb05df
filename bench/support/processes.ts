import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { createInterface } from 'node:readline';

/** Starts a server script in its own process, and waits for the line with its address. */
export async function startServer(script: string, args: readonly string[] = []): Promise<{ url: string; pid: number; stop: () => void }> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout }))
    return { url: (JSON.parse(line) as { url: string }).url, pid: child.pid ?? 0, stop: () => child.kill('SIGKILL') };
  throw new Error(`${script} did not start`);
}

export interface Finished {
  readonly code: number | null;
  readonly seconds: number;
  readonly peakMiB: number;
  /** CPU of the command up to the last twentieth of a second, s. */
  readonly cpuSeconds: number;
  readonly stderr: string;
}

/** Runs a command to its end. Its peak memory comes from the kernel (VmHWM in proc(5)). */
export async function runToEnd(command: readonly string[], env: NodeJS.ProcessEnv = {}): Promise<Finished> {
  const started = performance.now();
  const child = spawn(command[0] as string, command.slice(1), { stdio: ['ignore', 'ignore', 'pipe'], env: { ...process.env, ...env } });
  let peak = 0;
  let cpu = 0;
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-20_000);
  });
  const timer = setInterval(() => {
    peak = Math.max(peak, peakMiB(child.pid ?? 0));
    cpu = Math.max(cpu, cpuSeconds(child.pid ?? 0));
  }, 50);
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  clearInterval(timer);
  return { code, seconds: (performance.now() - started) / 1_000, peakMiB: peak, cpuSeconds: cpu, stderr };
}

/** The peak memory of a process so far; 0 after its end. */
export function peakMiB(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;
  } catch {
    return 0;
  }
}

/** Describes the machine, for the record beside every figure. */
export function machine(): string {
  const [first] = cpus();
  return (
    `${first?.model.trim() ?? 'unknown processor'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ` +
    `${process.version}, ${process.platform}`
  );
}

export interface Running {
  readonly pid: number;
  /** Stops the process and waits for its end. A process that has ended by itself is an error. */
  stop(): Promise<number | null>;
  /** Sends SIGKILL, and resolves when the process has ended. */
  kill(): Promise<unknown>;
}

/** Runs a command until `stop`. @param cwd its working directory; absent: that of this process */
export function runUntilStopped(command: readonly string[], env: NodeJS.ProcessEnv = {}, cwd?: string): Running {
  const child = spawn(command[0] as string, command.slice(1), {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, ...env },
    ...(cwd === undefined ? {} : { cwd }),
  });
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString()).slice(-20_000);
  });
  const closed = new Promise<number | null>((resolve) => child.once('close', resolve));
  return {
    pid: child.pid ?? 0,
    async stop() {
      if (child.exitCode !== null) throw new Error(`${command.join(' ')} ended by itself with ${child.exitCode}: ${stderr}`);
      child.kill('SIGTERM');
      return closed;
    },
    kill: () => {
      child.kill('SIGKILL');
      return closed;
    },
  };
}

/** Bytes that a process has read so far, from the disk, its cache or a socket (proc(5), `io`, rchar). */
export function bytesRead(pid: number): number {
  return Number(/^rchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0);
}

/** The unit of CPU time in proc(5). */
const TICKS_A_SECOND = 100;

/** CPU seconds of a process so far (proc(5), `stat`); 0 after its end. */
export function cpuSeconds(pid: number): number {
  try {
    // The command's name is in brackets and may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
  } catch {
    return 0;
  }
}

/** Samples the machine's load each second until it is stopped. Shares of all cores. */
export function watchCpu(): { stop: () => void; readonly shares: readonly number[] } {
  const total = (): { busy: number; all: number } => {
    let [busy, all] = [0, 0];
    for (const { times } of cpus()) {
      all += times.user + times.nice + times.sys + times.idle + times.irq;
      busy += times.user + times.nice + times.sys + times.irq;
    }
    return { busy, all };
  };
  const shares: number[] = [];
  let before = total();
  const timer = setInterval(() => {
    const now = total();
    shares.push((now.busy - before.busy) / Math.max(1, now.all - before.all));
    before = now;
  }, 1_000);
  return { stop: () => clearInterval(timer), shares };
}
