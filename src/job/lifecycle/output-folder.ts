/** Which missing folders of an output a run may create. */
import { existsSync } from 'node:fs';
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path';
import type { CompiledJob } from '../../definition/compiled-job.ts';
import { isS3Uri } from '../../s3/uri.ts';
import { StorageError } from '../../util/errors.ts';

/**
 * A missing folder is created inside the working directory, and from the part of the path that a date names. Elsewhere it may be mistyped,
 * or a volume that is not mounted: a run would pay for an output that nobody finds.
 * @throws StorageError 74
 */
export function refuseMissingFolder({ output, checkpoint }: Pick<CompiledJob, 'output' | 'checkpoint'>): void {
  if (output.uri === '-' || isS3Uri(output.uri)) return;
  const folder = dirname(resolve(output.uri));
  const wanted = undatedPart(folder, output.earlier[0]);
  if (existsSync(wanted) || isInside(wanted, process.cwd())) return;
  // A job under way knows whether the folder had its rows.
  if (!isS3Uri(checkpoint.uri) && existsSync(checkpoint.uri)) return;
  throw new StorageError(
    'output_folder',
    `the folder ${wanted} of the output does not exist; the nearest that does is ${nearest(wanted)}`,
    {
      hint: `Create it (mkdir -p ${wanted}), or mount its volume, and run the same command again.`,
    },
  );
}

/** The folder down to the part in which another day has another name. */
function undatedPart(folder: string, earlier: string | undefined): string {
  if (earlier === undefined) return folder;
  const other = dirname(resolve(earlier)).split(sep);
  const parts = folder.split(sep);
  const dated = parts.findIndex((part, place) => part !== other[place]);
  return dated === -1 ? folder : parts.slice(0, dated).join(sep) || sep;
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return !isAbsolute(way) && way.split(sep)[0] !== '..';
}

function nearest(path: string): string {
  return existsSync(path) ? path : nearest(dirname(path));
}
