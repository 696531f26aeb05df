import { deflateRawSync, crc32, gzipSync, zstdCompressSync, constants } from 'node:zlib';
import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { ByteCursor } from '../../src/formats/compression/byte-cursor.ts';
import { readGzip, type Piece } from '../../src/formats/compression/gzip.ts';
import { readZstd } from '../../src/formats/compression/zstd.ts';
import { casesOf } from '../support/sample.ts';
import { code } from './helpers.ts';

async function* chunks(bytes: Buffer, size: number): AsyncGenerator<Buffer, void, void> {
  for (let at = 0; at < bytes.length; at += size) yield await Promise.resolve(bytes.subarray(at, at + size));
}

interface Outcome {
  bytes: Buffer;
  frames: readonly { at: number; offset: number }[];
  error: unknown;
}

async function read(kind: 'gzip' | 'zstd', bytes: Buffer, size = 65_536): Promise<Outcome> {
  const pieces: Piece[] = [];
  let error: unknown = null;
  const cursor = new ByteCursor(chunks(bytes, size), 0);
  try {
    for await (const piece of kind === 'gzip' ? readGzip(cursor, 0, 'x') : readZstd(cursor, 0, 'x')) pieces.push(piece);
  } catch (caught) {
    error = caught;
  }
  return {
    bytes: Buffer.concat(pieces.map((piece) => piece.bytes)),
    frames: [...new Set(pieces.map(({ frame }) => frame ?? { at: -1, offset: -1 }))],
    error,
  };
}

/** A member with every optional part of a header (RFC 1952, 2.3). */
function fancyMember(content: Buffer): Buffer {
  const extra = Buffer.from('\x05\x00extra', 'latin1');
  const header = Buffer.concat([
    Buffer.from([0x1f, 0x8b, 8, 2 | 4 | 8 | 16, 0, 0, 0, 0, 0, 3]),
    extra,
    Buffer.from('na\xefme.csv\0a comment\0', 'latin1'),
  ]);
  const check = Buffer.alloc(2);
  check.writeUInt16LE(crc32(header) & 0xffff);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(content), 0);
  trailer.writeUInt32LE(content.length, 4);
  return Buffer.concat([header, check, deflateRawSync(content), trailer]);
}

const skippable = Buffer.concat([Buffer.from('5a2a4d18', 'hex'), Buffer.from([5, 0, 0, 0]), Buffer.from('hello')]);
const part = fc
  .oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.nat(150_000).map((length) => Buffer.alloc(length, 'abc,')),
    fc.constant(new Uint8Array()),
  )
  .map((bytes) => Buffer.from(bytes));

describe.each(['gzip', 'zstd'] as const)('%s', (kind) => {
  const compress = (bytes: Buffer, fancy: boolean): Buffer => {
    if (kind === 'gzip') return fancy ? fancyMember(bytes) : gzipSync(bytes);
    return fancy
      ? Buffer.concat([
          skippable,
          zstdCompressSync(bytes, { params: { [constants.ZSTD_c_checksumFlag]: 1, [constants.ZSTD_c_compressionLevel]: 19 } }),
          skippable,
        ])
      : zstdCompressSync(bytes);
  };

  it('the content and the start of every member are correct, in any chunks', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(part, fc.boolean()), { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 70 }),
        async (parts, size) => {
          const members = parts.map(([bytes, fancy]) => compress(bytes, fancy));
          const found = await read(kind, Buffer.concat(members), size);
          expect(found.error).toBeNull();
          expect(found.bytes.equals(Buffer.concat(parts.map(([bytes]) => bytes)))).toBe(true);
          let [at, offset] = [0, 0];
          const wanted = parts.flatMap(([bytes, fancy], index) => {
            const frame = { at: kind === 'zstd' && fancy ? at + skippable.length : at, offset };
            at += members[index]?.length ?? 0;
            offset += bytes.length;
            return bytes.length === 0 ? [] : [frame];
          });
          expect(found.frames).toEqual(wanted);
        },
      ),
      { numRuns: casesOf(15, 60) },
    );
  });

  it('a truncated archive is an error with the byte of the cut, after all data before it', async () => {
    const content = Buffer.from(Array.from({ length: 300 }, (_, index) => `row ${(index * 7919) % 997}\n`).join(''));
    const whole = Buffer.concat([compress(content, false), compress(content, true)]);
    const first = compress(content, false).length;
    for (let cut = 1; cut < whole.length; cut += 1) {
      // A cut after a member, or after a skippable frame, cannot be detected.
      if (cut === first || (kind === 'zstd' && (cut === first + skippable.length || cut === whole.length - skippable.length))) continue;
      const found = await read(kind, whole.subarray(0, cut), 64);
      expect([cut, code(found.error)]).toEqual([cut, 'input_truncated']);
      expect(String(found.error)).toContain(`byte ${cut} `);
      expect(Buffer.concat([content, content]).subarray(0, found.bytes.length).equals(found.bytes)).toBe(true);
      if (cut > first) expect(found.bytes.length).toBeGreaterThanOrEqual(content.length);
    }
  });

  it('damage never becomes data: any flipped byte is an error, or changes nothing', async () => {
    const content = Buffer.from('email,n\n' + 'a@x.example,1\n'.repeat(40));
    const whole = kind === 'gzip' ? gzipSync(content) : zstdCompressSync(content, { params: { [constants.ZSTD_c_checksumFlag]: 1 } });
    for (let at = 0; at < whole.length; at += 1) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ 0x41;
      const { error, bytes } = await read(kind, damaged);
      if (error === null) expect(bytes.equals(content) || bytes.length === 0).toBe(true);
      else expect(['input_compression', 'input_truncated']).toContain(code(error));
    }
  });

  it('a decompression bomb is inflated in small chunks, and only on demand', async () => {
    const bomb = compress(Buffer.alloc(200_000_000), false);
    const cursor = new ByteCursor(chunks(bomb, 65_536), 0);
    let most = 0;
    let total = 0;
    for await (const { bytes } of kind === 'gzip' ? readGzip(cursor, 0, 'x') : readZstd(cursor, 0, 'x')) {
      most = Math.max(most, bytes.length);
      total += bytes.length;
      if (total > 10_000_000) break;
    }
    expect(most).toBeLessThanOrEqual(65_536);
  });
});

describe('gzip', () => {
  it('zeros at the end are padding, and anything else is an error that names the byte', async () => {
    const member = gzipSync('email\n');
    expect((await read('gzip', Buffer.concat([member, Buffer.alloc(1000)]))).error).toBeNull();
    const garbage = await read('gzip', Buffer.concat([member, Buffer.alloc(3), Buffer.from('x')]));
    expect(garbage.bytes.toString()).toBe('email\n');
    expect(code(garbage.error)).toBe('input_compression');
    expect(String(garbage.error)).toContain(`byte ${member.length + 3}`);
  });

  it('an endless header is refused', async () => {
    const header = Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 8, 0, 0, 0, 0, 0, 3]), Buffer.alloc(1_000_000, 'n')]);
    expect(code((await read('gzip', header)).error)).toBe('input_compression');
  });
});

describe('zstd', () => {
  it('a run-length block is one byte for any decompressed length', async () => {
    // The magic number, a single segment with a size of 5, then one last block of type 1 (RFC 8878, 3.1.1.2): five times an x.
    const frame = Buffer.from('28b52ffd20052b000078', 'hex');
    const found = await read('zstd', Buffer.concat([frame, zstdCompressSync('next'), frame]));
    expect(found.error).toBeNull();
    expect(found.bytes.toString()).toBe('xxxxxnextxxxxx');
    expect(found.frames.map(({ offset }) => offset)).toEqual([0, 5, 9]);
  });
});
