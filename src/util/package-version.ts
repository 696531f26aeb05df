/** The package's own version, for the User-Agent header. */
import { readFileSync } from 'node:fs';

let version: string | null = null;

/** Reads the version from package.json once. The file lies two folders up, in the source and in the build. */
export function packageVersion(): string {
  version ??= readVersion();
  return version;
}

function readVersion(): string {
  try {
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version?: unknown };
    return typeof manifest.version === 'string' ? manifest.version : 'unknown';
  } catch {
    // Bundled into one file, where package.json is missing. Nothing depends on the number.
    return 'unknown';
  }
}
