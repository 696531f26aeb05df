/** Preloaded into the real command (`node --import`): a disk that takes `FLUSH_MS` to flush each checkpoint. */
import fs, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { setTimeout as after } from 'node:timers/promises';

const ms = Number(process.env['FLUSH_MS']);
const open = fs.open;
fs.open = async (path, flags, mode) => {
  const handle: FileHandle = await open(path, flags, mode);
  if (!String(path).includes('.checkpoint.json.') || String(path).includes('.lock')) return handle;
  const flush = handle.datasync.bind(handle);
  handle.datasync = async () => {
    await after(ms);
    await flush();
  };
  return handle;
};
syncBuiltinESMExports();
