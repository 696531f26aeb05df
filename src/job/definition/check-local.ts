import { fileURLToPath } from 'node:url';
import { nameOf, refusal, show, type Origin } from './origin.ts';

/** Other schemes are nothing that Millrace reads or writes there. */
export function checkLocal(uri: string, origin: Origin): void {
  if (!/^[A-Za-z][A-Za-z0-9+.-]*:\/\//.test(uri)) return;
  throw refusal(origin, 'bad_value', `${nameOf(origin)} must be a path on this machine, got ${show(uri)}`, pathOf(uri) ?? 'Write the path without a scheme.');
}

/** The path to write in place of a `file://` URI; null when the text is no such URI, or names another machine. */
function pathOf(uri: string): string | null {
  try {
    return `Write the path without a scheme: ${show(fileURLToPath(uri))}`;
  } catch {
    return null;
  }
}
