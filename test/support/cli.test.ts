import { expect, test } from 'vitest';
import { Folder } from './cli.ts';

/** One that has much to give back does not end at once. */
const LARGE = 'globalThis.much = Buffer.alloc(200_000_000, 1); process.stdout.write("begun"); setInterval(() => {}, 1_000)';

test('a folder is removed when what was started in it has ended: until then files may come into it', async () => {
  const folder = await Folder.make();
  const started = folder.start(['-e', LARGE], { program: [process.execPath] });
  await started.says('begun');
  await folder.remove();
  expect(started.child.signalCode).toBe('SIGKILL');
  await expect(folder.files()).rejects.toThrow('ENOENT');
});
