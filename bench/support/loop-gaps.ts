/**
 * Measures the event loop of the process that it is preloaded into, by `NODE_OPTIONS=--import=FILE`. On SIGWINCH it writes the longest gap
 * since the signal before to the file that the variable LOOP_GAPS names, and starts over.
 */
import { renameSync, writeFileSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

/** Milliseconds between two runs of the timer. */
const EVERY_MS = 1;

/** The longest time between two runs of the timer, milliseconds: on the wall clock, and in processor time of the thread. */
export interface LoopGaps {
  readonly wallMs: number;
  /** Other processes of the machine do not lengthen it. */
  readonly cpuMs: number;
  /** Share of the time in which the thread had the processor. */
  readonly busy: number;
}

const cpuNow = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

const file = process.env['LOOP_GAPS'];
if (file !== undefined && isMainThread) {
  let [wallMs, cpuMs] = [0, 0];
  let [lastMs, lastCpuMs] = [performance.now(), cpuNow()];
  let [beganMs, beganCpuMs] = [lastMs, lastCpuMs];
  const look = (): void => {
    const [now, cpu] = [performance.now(), cpuNow()];
    wallMs = Math.max(wallMs, now - lastMs);
    cpuMs = Math.max(cpuMs, cpu - lastCpuMs);
    [lastMs, lastCpuMs] = [now, cpu];
  };
  setInterval(look, EVERY_MS).unref();
  process.on('SIGWINCH', () => {
    look();
    const gaps: LoopGaps = { wallMs, cpuMs, busy: (lastCpuMs - beganCpuMs) / (lastMs - beganMs) };
    writeFileSync(`${file}.new`, JSON.stringify(gaps));
    renameSync(`${file}.new`, file);
    [wallMs, cpuMs, beganMs, beganCpuMs] = [0, 0, lastMs, lastCpuMs];
  });
}
