/**
 * The build, in few files instead of a thousand: the command starts in two thirds of the time, and the suite starts it
 * hundreds of times. Made anew when the build or what it depends on is.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { BUNDLE } from '../support/cli.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Vitest's global set-up. */
export default async function bundleCommand(): Promise<void> {
  const [bundle, ...from] = await Promise.all([BUNDLE, join(ROOT, 'dist/.tsbuildinfo'), join(ROOT, 'package-lock.json')].map(changedAt));
  if (bundle !== undefined && from.every((at) => at !== undefined && at < bundle)) return;
  const command = await rolldown({
    input: join(ROOT, 'dist/cli/millrace.js'),
    platform: 'node',
    logLevel: 'silent',
    // Each module finds its files from where it stands in the build.
    plugins: [{ name: 'stands-in-the-build', transform: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)) }],
  });
  await command.write({ dir: join(BUNDLE, '..'), format: 'esm', cleanDir: true, entryFileNames: 'millrace.js' });
  await command.close();
}

async function changedAt(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => null))?.mtimeMs;
}
