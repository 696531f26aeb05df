/** Reads a YAML or JSON file of bounded size as text. */
import { open } from 'node:fs/promises';
import { ConfigError } from '../util/errors.ts';
import type { DocumentKind } from './document-kind.ts';

/** Bytes. A document is a page of text. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024;

/** @throws ConfigError `<code>_unreadable`, `<code>_too_large`, or `<code>_syntax` for bytes that are not UTF-8 */
export async function readDocument(path: string, kind: DocumentKind): Promise<string> {
  const bytes = new Uint8Array(MAX_DOCUMENT_BYTES + 1);
  let length = 0;
  try {
    await using file = await open(path, 'r');
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, null);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
  } catch (cause) {
    const message = `The ${kind.noun} ${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new ConfigError(kind.codes.unreadable, message, { cause, hint: 'Check its permissions.' });
  }
  const advice = kind.adviceFor(path);
  if (length > MAX_DOCUMENT_BYTES) {
    const message = `${path} is larger than 1 MiB: that is no ${kind.noun}`;
    throw new ConfigError(kind.codes.tooLarge, message, advice === null ? {} : { hint: advice });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes.subarray(0, length));
  } catch (cause) {
    const hint = [`A ${kind.noun} is saved as UTF-8.`, ...(advice === null ? [] : [advice])].join(' ');
    throw new ConfigError(kind.codes.syntax, `${path} is not UTF-8 text`, { cause, hint });
  }
}
