/** The package's own version, for User-Agent. */
import { readFileSync } from 'node:fs';

let version: string | null = null;

/** From package.json, which lies two folders up from here in the source as in the build; read once. */
export function packageVersion(): string {
  version ??= readVersion();
  return version;
}

function readVersion(): string {
  try {
    const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as { version?: unknown };
    return typeof manifest.version === 'string' ? manifest.version : 'unknown';
  } catch {
    // Bundled into one file: nothing depends on the number.
    return 'unknown';
  }
}
