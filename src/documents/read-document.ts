/** Reads a YAML or JSON file of bounded size as text. */
import { open } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { ConfigError } from '../util/errors.ts';
import type { DocumentKind } from './document-kind.ts';

/** Bytes. A document is a page of text. */
export const MAX_DOCUMENT_BYTES = 1024 * 1024;

/** @throws ConfigError `<code>_unreadable`, `<code>_too_large`, or `<code>_syntax` for bytes that are not UTF-8 */
export async function readDocument(path: string, kind: DocumentKind): Promise<string> {
  const bytes = new Uint8Array(boundOf(kind) + 1);
  let length = 0;
  try {
    await using file = await open(path, 'r');
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, null);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
  } catch (cause) {
    throw unreadable(path, kind, cause);
  }
  return textOf(bytes.subarray(0, length), path, kind);
}

/** The same from a stream, which is read to its end or to the bound. @param name of the stream, for messages */
export async function readDocumentFrom(stream: Readable, name: string, kind: DocumentKind): Promise<string> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      length += chunk.length;
      if (length > boundOf(kind)) break;
    }
  } catch (cause) {
    throw unreadable(name, kind, cause);
  }
  return textOf(Buffer.concat(chunks), name, kind);
}

const boundOf = ({ maxBytes = MAX_DOCUMENT_BYTES }: DocumentKind): number => maxBytes;

function unreadable(path: string, kind: DocumentKind, cause: unknown): ConfigError {
  const message = `The ${kind.noun} ${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`;
  return new ConfigError(kind.codes.unreadable, message, { cause, hint: 'Check its permissions.' });
}

function textOf(bytes: Uint8Array, path: string, kind: DocumentKind): string {
  const advice = kind.adviceFor(path);
  if (bytes.length > boundOf(kind)) {
    const message = `${path} is larger than ${boundOf(kind) / MAX_DOCUMENT_BYTES} MiB: that is no ${kind.noun}`;
    throw new ConfigError(kind.codes.tooLarge, message, advice === null ? {} : { hint: advice });
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    const hint = [`A ${kind.noun} is saved as UTF-8.`, ...(advice === null ? [] : [advice])].join(' ');
    throw new ConfigError(kind.codes.syntax, `${path} is not UTF-8 text`, { cause, hint });
  }
}
