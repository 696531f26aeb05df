/**
 * Preloaded into the real command (`node --import`): sends it a signal right before a step that changes the disk. An outside watcher would
 * notice too late.
 * Steps are the changing calls of node:fs/promises and its file handles, and SQLite's transactions.
 */
import { appendFileSync, readFileSync } from 'node:fs';
import fs, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { basename } from 'node:path';

/** The step: the call (any when left out), its file's name, a text in the file, and which of them; and the log of all steps. */
const {
  STEP_CALL: call = '',
  STEP_FILE: file = '',
  STEP_HOLDING: holding = '',
  STEP_NTH: nth = '0',
  STEP_SIGNAL: signal = 'SIGKILL',
  STEP_LOG: log = '',
} = process.env;
const name = new RegExp(file);
let left = Number(nth);

function step(called: string, path: string, content: string): void {
  // Random parts of names are replaced, because no test can know them.
  const known = basename(path).replaceAll(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<=\.)[0-9a-f]{8}(?=\.)/g, '*');
  if (log !== '') appendFileSync(log, `${called} ${known}\n`);
  if (left === 0 || (call !== '' && called !== call) || !name.test(known)) return;
  if (holding !== '' && !readFileSync(content, 'utf8').includes(holding)) return;
  // The signal is delivered before `kill` returns, so no further call reaches the disk.
  if (--left === 0) process.kill(process.pid, signal);
}

type Call = (...args: readonly unknown[]) => Promise<unknown>;

function wrap(
  owner: object,
  called: string,
  paths: (self: unknown, args: readonly unknown[]) => { path: string; content?: string } | null,
): void {
  const original = (owner as Record<string, Call>)[called];
  if (original === undefined) throw new Error(`there is no ${called} to step on`);
  const stepping: Call = function (this: unknown, ...args) {
    const found = paths(this, args);
    if (found !== null) step(called, found.path, found.content ?? found.path);
    return original.apply(this, [...args]);
  };
  (owner as Record<string, Call>)[called] = stepping;
}

/** The paths of open files. */
const names = new WeakMap<object, string>();
const handle: FileHandle = await fs.open('/dev/null');
const handles: object = Object.getPrototypeOf(handle);
await handle.close();
const original = fs.open;
fs.open = async (path, flags, mode) => {
  // Reading changes nothing.
  if (flags !== 'r' && flags !== undefined) step('open', String(path), String(path));
  const opened = await original(path, flags, mode);
  names.set(opened, String(path));
  return opened;
};
for (const called of ['rename', 'link', 'copyFile']) wrap(fs, called, (_, [from, to]) => ({ path: String(to), content: String(from) }));
wrap(fs, 'rm', (_, [path]) => ({ path: String(path) }));
for (const called of ['write', 'writeFile', 'truncate', 'sync', 'datasync'])
  wrap(handles, called, (self) => ({ path: names.get(self as object) ?? '' }));
wrap(DatabaseSync.prototype, 'exec', (_, [sql]) => (/^(?:BEGIN|COMMIT)/.test(String(sql)) ? { path: `ledger ${String(sql)}` } : null));
syncBuiltinESMExports();
