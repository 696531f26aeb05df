/**
 * Bundles the build into few files instead of a thousand. The command then starts in half of the time, and the suite starts it hundreds of
 * times. Rebuilt when the build or its dependencies change.
 */
import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown, type Plugin } from 'rolldown';
import { BUNDLE } from '../support/cli.ts';

const ROOT = join(import.meta.dirname, '../..');

/**
 * The modules that a command loads together are one file, because each file costs its start half a millisecond. A module lies in the first
 * part that imports it, so parts of small commands stand first; Rolldown divides the others.
 */
const PARTS: Readonly<Record<string, readonly string[]>> = {
  base: ['cli/main.js'],
  keys: ['cli/commands/keys.js', 'service/admin/keys-command.js'],
  import: ['cli/commands/import.js', 'service/admin/import/import-command.js', 'service/admin/export/export-command.js'],
  run: ['cli/commands/run.js', 'job/commands/run-command.js'],
  serve: ['cli/commands/serve.js', 'service/admin/serve-command.js'],
  s3: ['storage/s3-storage.js', 'sources/s3-source.js', 'lock/s3-lock.js'],
};

/** Global set-up of Vitest. */
export default async function bundleCommand(): Promise<void> {
  const sources = [join(ROOT, 'dist/.tsbuildinfo'), join(ROOT, 'package-lock.json'), import.meta.filename];
  const [bundle, ...from] = await Promise.all([BUNDLE, ...sources].map(changedAt));
  if (bundle !== undefined && from.every((at) => at !== undefined && at < bundle)) return;
  const parts = new Map<string, string>();
  const command = await rolldown({
    input: { millrace: join(ROOT, 'dist/cli/millrace.js'), main: join(ROOT, 'dist/cli/main.js') },
    platform: 'node',
    logLevel: 'silent',
    // Each module keeps the paths that it has in the build.
    plugins: [
      { name: 'stands-in-the-build', transform: (code, id) => code.replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href)) },
      partsOf(parts),
    ],
  });
  await command.write({
    dir: join(BUNDLE, '..'),
    format: 'esm',
    cleanDir: true,
    entryFileNames: '[name].js',
    codeSplitting: { groups: [{ name: (id) => parts.get(id) ?? null }] },
  });
  await command.close();
  // Without it Node reads each file twice to find out that it is a module.
  await writeFile(join(BUNDLE, '../package.json'), '{"type":"module"}');
}

/** Finds the part of each module by its static imports. */
function partsOf(parts: Map<string, string>): Plugin {
  return {
    name: 'parts',
    buildEnd() {
      const add = (id: string, part: string): void => {
        if (parts.has(id)) return;
        parts.set(id, part);
        for (const imported of this.getModuleInfo(id)?.importedIds ?? []) add(imported, part);
      };
      for (const [part, files] of Object.entries(PARTS)) for (const file of files) add(join(ROOT, 'dist', file), part);
    },
  };
}

async function changedAt(path: string): Promise<number | undefined> {
  return (await stat(path).catch(() => null))?.mtimeMs;
}
