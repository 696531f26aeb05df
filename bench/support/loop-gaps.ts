/**
 * Measures the event loop of the process that it is preloaded into, by `NODE_OPTIONS=--import=FILE`. On SIGWINCH it writes the longest gap
 * since the signal before to the file that the variable LOOP_GAPS names, and starts over.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Milliseconds between two runs of the timer. */
const EVERY_MS = 1;

/** The longest time between two runs of the timer, milliseconds: on the wall clock, and in processor time of the thread. */
export interface LoopGaps {
  readonly wallMs: number;
  /** Other processes of the machine do not lengthen it. */
  readonly cpuMs: number;
  /** Shares of the time: in which the thread had the processor, and in which it waited for one, because other threads had it. */
  readonly busy: number;
  readonly waited: number;
}

const cpuNow = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

/** Milliseconds that the main thread has waited for a processor, where the kernel counts them (sched-stats of Linux); else 0. */
const SCHEDULE = '/proc/self/schedstat';
const waitedNow = (): number => (existsSync(SCHEDULE) ? Number(readFileSync(SCHEDULE, 'utf8').split(' ')[1]) / 1e6 : 0);

const file = process.env['LOOP_GAPS'];
if (file !== undefined && isMainThread) {
  let [wallMs, cpuMs] = [0, 0];
  let [lastMs, lastCpuMs] = [performance.now(), cpuNow()];
  let [beganMs, beganCpuMs, beganWaitedMs] = [lastMs, lastCpuMs, waitedNow()];
  const look = (): void => {
    const [now, cpu] = [performance.now(), cpuNow()];
    wallMs = Math.max(wallMs, now - lastMs);
    cpuMs = Math.max(cpuMs, cpu - lastCpuMs);
    [lastMs, lastCpuMs] = [now, cpu];
  };
  setInterval(look, EVERY_MS).unref();
  process.on('SIGWINCH', () => {
    look();
    const [spanMs, waitedMs] = [lastMs - beganMs, waitedNow()];
    const gaps: LoopGaps = { wallMs, cpuMs, busy: (lastCpuMs - beganCpuMs) / spanMs, waited: (waitedMs - beganWaitedMs) / spanMs };
    writeFileSync(`${file}.new`, JSON.stringify(gaps));
    renameSync(`${file}.new`, file);
    [wallMs, cpuMs, beganMs, beganCpuMs, beganWaitedMs] = [0, 0, lastMs, lastCpuMs, waitedMs];
  });
}
