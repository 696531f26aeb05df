import * as fc from '../support/fast-check.ts';
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

it('a digest is independent of chunk sizes and of the processes that continued it', () => {
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

it('a digest changes with any bit, and is not continued when the bit is in the open block', () => {
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

it('a digest does not continue from a text that is not its state', () => {
  expect(BlockDigest.from('nonsense', Buffer.alloc(0))).toBeNull();
});
