/** Compares the input with the input of the job's first start: by name, size and content, never by mtime. */
import { InputError } from '../util/errors.ts';
import { isSamePlace } from '../util/files/same-place.ts';
import { isS3Uri } from '../s3/uri.ts';
import { FILES_AT_ONCE } from '../formats/limits.ts';
import { mapConcurrently } from '../util/map-concurrently.ts';
import type { Identity } from '../sources/source.ts';
import { sourceOf } from '../sources/source-of.ts';
import type { InputFile, InputManifest } from '../formats/input-record.ts';

/** Null when nothing changed, else a sentence that names the file and the change. @throws only when a file may not be read */
export async function describeChange(manifest: InputManifest, signal?: AbortSignal): Promise<string | null> {
  const changes = await mapConcurrently(manifest.files, FILES_AT_ONCE, (file) => changeOf(file, signal));
  return changes.find((change) => change !== null) ?? null;
}

async function changeOf(file: InputFile, signal: AbortSignal | undefined): Promise<string | null> {
  let now: Identity;
  try {
    now = await (await sourceOf(file.path)).identify(file, { signal });
  } catch (error) {
    if (error instanceof InputError && error.code === 'input_missing') return `${file.uri} is no longer there.`;
    throw error;
  }
  return compare(file, now);
}

/** Compares the input frozen at the first start with the input found now. Null, or a sentence. */
export function compareManifests(frozen: InputManifest, now: InputManifest): string | null {
  for (const [index, file] of frozen.files.entries()) {
    const other = now.files[index];
    if (other === undefined) return `${file.uri} is no longer part of the input.`;
    if (!isSame(other, file)) {
      return now.files.some((one) => isSame(one, file))
        ? `${other.uri} was added to the input before ${file.uri}.`
        : `${file.uri} is no longer part of the input.`;
    }
    const change = compare(file, other);
    if (change !== null) return change;
  }
  const added = now.files[frozen.files.length];
  return added === undefined ? null : `${added.uri} was added to the input.`;
}

/** True when both are the same file. A path may be written in several ways, and its folder may be mounted elsewhere. */
function isSame(one: InputFile, other: InputFile): boolean {
  return one.uri === other.uri || isSamePlace(one.path, other.path);
}

function compare(frozen: InputFile, now: Identity): string | null {
  if (now.size !== frozen.size) return `${frozen.uri} had ${frozen.size} bytes and has ${now.size} now.`;
  if (now.digest !== frozen.digest)
    return (
      `${frozen.uri} has the same size but other content than before (` +
      `${isS3Uri(frozen.path) ? 'another ETag' : 'in its first or last 64 KiB'}).`
    );
  return null;
}
