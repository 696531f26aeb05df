import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { BlockDigest } from '../../src/storage/block-digest.ts';

const MIB = 1024 * 1024;

function bytesOf(length: number, seed: number): Buffer {
  return Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 31 + (i >> 8) * seed + seed) & 0xff));
}

function digestOf(...pieces: readonly Buffer[]): BlockDigest {
  const digest = new BlockDigest();
  for (const piece of pieces) digest.update(piece);
  return digest;
}

const sizes = fc.oneof(fc.nat(200), fc.integer({ min: MIB - 2, max: MIB + 2 }), fc.nat(2 * MIB + 9_999));

it('is the same however the bytes are cut, and whoever goes on with it', () => {
  fc.assert(
    fc.property(sizes, sizes, fc.nat(255), (length, cut, seed) => {
      const bytes = bytesOf(length, seed);
      const at = Math.min(cut, length);
      const first = digestOf(bytes.subarray(0, at));
      const again = BlockDigest.from(first.state, bytes.subarray(BlockDigest.openFrom(first.state), at));
      again?.update(bytes.subarray(at));
      expect(again?.state).toBe(digestOf(bytes).state);
    }),
    { numRuns: 20 },
  );
});

it('is another when any bit is, and is not gone on with when the bit is in the open block', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 2 * MIB + 9_999 }), fc.nat(), fc.nat(7), (length, where, bit) => {
      const bytes = bytesOf(length, 7);
      const { state } = digestOf(bytes);
      const at = where % length;
      bytes[at] = (bytes[at] ?? 0) ^ (1 << bit);
      expect(digestOf(bytes).state).not.toBe(state);
      const from = BlockDigest.openFrom(state);
      if (at >= from) expect(BlockDigest.from(state, bytes.subarray(from))).toBeNull();
    }),
    { numRuns: 20 },
  );
});

it('goes on with nothing that is no state of it', () => {
  expect(BlockDigest.from('nonsense', Buffer.alloc(0))).toBeNull();
});
