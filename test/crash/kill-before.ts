/**
 * Preloaded into the real command (`node --import`): ends it with SIGKILL right before a file takes its name. A watcher
 * outside would only hear of it when the command has long gone on.
 */
import { readFileSync } from 'node:fs';
import fs, { type rename } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { basename } from 'node:path';

/** Its last name, and a text that it must hold (or none). */
const { CRASH_BEFORE: name = '', CRASH_HOLDING: text = '' } = process.env;

const original: typeof rename = fs.rename;
fs.rename = (from, to) => {
  // The signal is delivered before `kill` returns: not one call more reaches the disk.
  if (basename(String(to)) === name && readFileSync(String(from)).includes(text)) process.kill(process.pid, 'SIGKILL');
  return original(from, to);
};
syncBuiltinESMExports();
