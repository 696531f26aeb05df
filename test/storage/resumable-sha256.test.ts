import { createHash } from 'node:crypto';
import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { ResumableSha256 } from '../../src/storage/resumable-sha256.ts';

describe('ResumableSha256', () => {
  it('equals SHA-256 for any bytes in any chunks, continued as text at any point', () => {
    const piece = fc.oneof(fc.uint8Array({ maxLength: 20 }), fc.uint8Array({ minLength: 40, maxLength: 300 }));
    fc.assert(
      fc.property(fc.array(fc.tuple(piece, fc.boolean()), { maxLength: 12 }), (pieces) => {
        let hash = new ResumableSha256();
        const expected = createHash('sha256');
        for (const [bytes, handOn] of pieces) {
          hash.update(Buffer.from(bytes));
          expected.update(bytes);
          if (handOn) hash = ResumableSha256.from(JSON.parse(JSON.stringify(hash.state)) as string);
        }
        expect(hash.digest()).toBe(expected.copy().digest('hex'));
        hash.update(Buffer.from('more'));
        expect(hash.digest()).toBe(expected.update('more').digest('hex'));
      }),
      { numRuns: 500 },
    );
  });

  it.each(['', 'state', `${'0'.repeat(64)}.1.`, `${'0'.repeat(64)}.64.00`, `${'0'.repeat(63)}.0.`])('refuses the state %j', (text) => {
    expect(() => ResumableSha256.from(text)).toThrow('no state of a SHA-256');
  });
});
