import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from '../support/fast-check.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WrittenRows } from '../../src/formats/written-rows.ts';
import { compressMember } from '../../src/formats/compression/compressor.ts';
import { csvRow } from '../../src/formats/csv/csv-row.ts';
import { text } from '../writer/samples.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'millrace-rows-'));
});
afterAll(() => rm(folder, { recursive: true }));

const cells = fc.array(
  fc.array(fc.oneof({ weight: 20, arbitrary: text }, { weight: 1, arbitrary: fc.constant('x"\n'.repeat(40_000)) }), {
    minLength: 1,
    maxLength: 4,
  }),
  { maxLength: 30 },
);

it('rows come back as they were written, from the start and from any row, compressed or not', async () => {
  await fc.assert(
    fc.asyncProperty(
      cells,
      fc.constantFrom<'none' | 'gzip' | 'zstd'>('none', 'gzip', 'zstd'),
      fc.constantFrom(',', '\t'),
      fc.integer({ min: 1, max: 7 }),
      async (table, compression, delimiter, memberRows) => {
        const row = csvRow(delimiter);
        const rows = table.map((one) => row(one));
        const members: Buffer[] = [];
        for (let i = 0; i < rows.length; i += memberRows) {
          const plain = Buffer.concat(rows.slice(i, i + memberRows));
          members.push(compression === 'none' ? plain : await compressMember(compression, plain));
        }
        const bytes = Buffer.concat(members);
        const path = join(folder, 'rows');
        await writeFile(path, bytes);
        const file = { uri: 'rows', path, size: bytes.length, digest: '', compression };
        const reader = new WrittenRows(file, true, { offset: 0, frame: null });
        const places = [reader.position];
        for (const expected of rows) {
          expect((await reader.next())?.equals(expected)).toBe(true);
          places.push(reader.position);
        }
        expect(await reader.next()).toBeNull();
        for (const [i, place] of places.entries()) {
          const again = new WrittenRows(file, true, place);
          expect((await again.next())?.toString() ?? null).toBe(rows[i]?.toString() ?? null);
          await again.close();
        }
        // Reading can begin at the member with the row, so that not everything before is read again.
        if (compression !== 'none') expect(new Set(places.slice(1).map(({ frame }) => frame?.at)).size).toBe(members.length);
      },
    ),
    { numRuns: 60 },
  );
});
