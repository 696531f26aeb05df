/** Set-up of files that share a worker. A file that leaves the worker changed fails itself, instead of a later one. */
import { afterAll, expect, vi } from 'vitest';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGPIPE', 'SIGUSR2', 'uncaughtException', 'unhandledRejection', 'beforeExit'];

/** The state of the worker that later files depend on, by name. */
function worker(): Map<string, unknown> {
  return new Map<string, unknown>([
    ['the folder', process.cwd()],
    ['the exit code', process.exitCode],
    ['fake clocks', vi.isFakeTimers()],
    ...Object.entries(process.env).map(([name, value]) => [`the variable ${name}`, value] as const),
    ...SIGNALS.map((name) => [`listeners for ${name}`, process.listenerCount(name)] as const),
    ...Object.entries({ Date, setTimeout, setInterval, setImmediate, queueMicrotask }),
    ['Date.now', Date.now],
    ['Math.random', Math.random],
  ]);
}

const before = worker();
afterAll(() => {
  const after = worker();
  // By name only, because a variable may be a secret.
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter((name) => before.get(name) !== after.get(name));
  expect(changed, 'what the file leaves changed for the next').toEqual([]);
});
