/**
 * Bundles the build into few files instead of a thousand. The command then starts in two thirds of the time, and the suite starts it
 * hundreds of times. Rebuilt when the build or its dependencies change.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { BUNDLE } from '../support/cli.ts';

const ROOT = join(import.meta.dirname, '../..');

/** Global set-up of Vitest. */
export default async function bundleCommand(): Promise<void> {
  const sources = [join(ROOT, 'dist/.tsbuildinfo'), join(ROOT, 'package-lock.json'), import.meta.filename];
  const [bundle, ...from] = await Promise.all([BUNDLE, ...sources].map(changedAt));
  if (bundle !== undefined && from.every((at) => at !== undefined && at < bundle)) return;
  const command = await rolldown({
    input: { millrace: join(ROOT, 'dist/cli/millrace.js'), main: join(ROOT, 'dist/cli/main.js') },
    platform: 'node',
    logLevel: 'silent',
    // Each module keeps the paths that it has in the build.
    plugins: [
      { name: 'stands-in-the-build', transform: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)) },
    ],
  });
  await command.write({ dir: join(BUNDLE, '..'), format: 'esm', cleanDir: true, entryFileNames: '[name].js' });
  await command.close();
}

async function changedAt(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => null))?.mtimeMs;
}
