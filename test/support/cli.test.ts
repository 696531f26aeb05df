import { expect, test } from 'vitest';
import { Folder } from './cli.ts';

/** A process with much memory to release does not end at once. */
const LARGE = 'globalThis.much = Buffer.alloc(200_000_000, 1); process.stdout.write("begun"); setInterval(() => {}, 1_000)';

test('a folder is removed only after its processes have ended, because they may still write files', async () => {
  const folder = await Folder.make();
  const started = folder.start(['-e', LARGE], { program: [process.execPath] });
  await started.says('begun');
  await folder.remove();
  expect(started.child.signalCode).toBe('SIGKILL');
  await expect(folder.files()).rejects.toThrow('ENOENT');
});
