import * as fc from '../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { recordBytes } from '../../../src/job/run/loop.ts';
import { csvRecord, jsonRecord } from '../../writer/samples.ts';

describe('the size of a record', () => {
  it('grows with each character, and is never 0', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { maxLength: 10 }), fc.string(), (values, more) => {
        const size = recordBytes(csvRecord(values));
        expect(size).toBeGreaterThan(0);
        expect(recordBytes(csvRecord([...values, '']))).toBeGreaterThan(size);
        expect(recordBytes(csvRecord([...values, more])) - recordBytes(csvRecord([...values, '']))).toBe(more.length);
        expect(recordBytes(jsonRecord(more)) - recordBytes(jsonRecord(''))).toBe(more.length);
      }),
    );
  });
});
