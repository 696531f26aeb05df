import { mkdtempSync, rmSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { afterAll } from 'vitest';
import { freezeInput, type FreezeOptions } from '../../src/reader/freeze.ts';
import { readRecords } from '../../src/formats/read-records.ts';
import type { InputManifest, InputRecord, Position } from '../../src/formats/input-record.ts';

/** A folder for this test file, removed at its end. */
export function scratchFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-reader-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

export async function put(folder: string, name: string, content: string | Uint8Array): Promise<string> {
  const path = join(folder, name);
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, content);
  return path;
}

export function freeze(uris: string | readonly string[], overrides: Partial<FreezeOptions> = {}): Promise<InputManifest> {
  return freezeInput({
    uris: typeof uris === 'string' ? [uris] : uris,
    format: null,
    delimiter: null,
    skipLines: 0,
    header: true,
    encoding: null,
    columns: {},
    ifMissing: 'fail',
    isOwn: () => false,
    reservedColumns: [],
    needColumns: false,
    spoolPath: join(tmpdir(), 'millrace-reader-no-spool'),
    ...overrides,
  });
}

/** Returns a function that writes a file and reads all of its records. */
export function scratchReader(): (
  content: string | Uint8Array,
  name?: string,
  overrides?: Partial<FreezeOptions>,
  chunkBytes?: number,
) => Promise<InputRecord[]> {
  const folder = scratchFolder();
  let files = 0;
  return async (content, name = 'in.csv', overrides = {}, chunkBytes) =>
    readAll(await freeze(await put(folder, `${files++}/${name}`, content), overrides), null, chunkBytes);
}

export async function readAll(manifest: InputManifest, from: Position | null = null, chunkBytes = 65_536): Promise<InputRecord[]> {
  const records: InputRecord[] = [];
  for await (const batch of readRecords(manifest, from, undefined, { chunkBytes })) records.push(...batch);
  return records;
}

/** A record without the frame of its end, which may be an earlier one when less has been read. */
export function withoutFrames(records: readonly InputRecord[]): unknown[] {
  return records.map((record) => ({ ...record, end: { ...record.end, frame: null } }));
}

/** An archive with one member or frame for each part between the cuts. */
export function archive(kind: 'gzip' | 'zstd', bytes: Buffer, cuts: readonly number[]): Buffer {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((one, other) => one - other), bytes.length];
  const compress = kind === 'gzip' ? gzipSync : zstdCompressSync;
  return Buffer.concat(places.slice(1).map((end, index) => compress(bytes.subarray(places[index], end))));
}

/** UTF-16 with a byte order mark. */
export function utf16(text: string, order: 'le' | 'be'): Buffer {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le');
  return order === 'le' ? bytes : bytes.swap16();
}

/** The stable code of a MillraceError. */
export function code(error: unknown): string | null {
  return error instanceof Error && 'code' in error ? String(error.code) : null;
}
