/** Tables with lines above the header, and tables without a header. */
import * as fc from '../support/fast-check.ts';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { readRecords } from '../../src/formats/read-records.ts';
import type { InputManifest } from '../../src/formats/input-record.ts';
import { freeze, put } from './helpers.ts';
import { temporaryFolder } from '../service/harness.ts';

async function rowsOf(manifest: InputManifest): Promise<{ line: number; email: string; values: readonly string[] | null }[]> {
  const rows = [];
  for await (const batch of readRecords(manifest, null)) rows.push(...batch.map(({ line, email, values }) => ({ line, email, values })));
  return rows;
}

const ROWS = 'Name,Work Email\nAda,ada@works.example\n"Bob, Jr.",bob@works.example\n';

describe('a table with lines above the header', () => {
  it('starts at its header, whatever the lines hold, in every encoding, plain and compressed', async () => {
    const folder = await temporaryFolder();
    const line = fc.string({ unit: 'grapheme', maxLength: 20 }).map((text) => text.replaceAll(/[\r\n\0]/g, ' '));
    await fc.assert(
      fc.asyncProperty(
        fc.array(line, { maxLength: 4 }),
        fc.constantFrom('utf8', 'bom', 'utf16le'),
        fc.boolean(),
        async (above, encoding, isGzip) => {
          const text = `${above.map((one) => `${one}\n`).join('')}${ROWS}`;
          const plain =
            encoding === 'utf16le' ? Buffer.from(`\ufeff${text}`, 'utf16le') : Buffer.from(encoding === 'bom' ? `\ufeff${text}` : text);
          const path = await put(folder, `some.csv${isGzip ? '.gz' : ''}`, isGzip ? gzipSync(plain) : plain);
          const manifest = await freeze(path, { skipLines: above.length });
          expect(manifest.columns).toEqual(['Name', 'Work Email']);
          expect(await rowsOf(manifest)).toEqual([
            { line: above.length + 2, email: 'ada@works.example', values: ['Ada', 'ada@works.example'] },
            { line: above.length + 3, email: 'bob@works.example', values: ['Bob, Jr.', 'bob@works.example'] },
          ]);
        },
      ),
      { numRuns: 60 },
    );
  });

  it('names input.skipLines when it has fewer lines', async () => {
    const path = await put(await temporaryFolder(), 'short.csv', ROWS);
    await expect(freeze(path, { skipLines: 9 })).rejects.toMatchObject({ code: 'input_header', hint: 'Check input.skipLines.' });
  });
});

describe.each([
  ['lines above the header', { skipLines: 3 }],
  ['no header', { header: false }],
])('a job for tables with %s', (_, options) => {
  it.each(['', '\ufeff'])('takes an empty file as one without records (%j)', async (text) => {
    const manifest = await freeze(await put(await temporaryFolder(), 'empty.csv', text), options);
    expect(await rowsOf(manifest)).toEqual([]);
  });
});

describe('a table without a header', () => {
  it('has numbered columns, finds its keys by their values, and loses no record', async () => {
    const path = await put(
      await temporaryFolder(),
      'raw.csv',
      'Ada,ada@works.example,https://www.linkedin.com/in/ada,works.example\nBob,bob@works.example,,other.example\n',
    );
    const manifest = await freeze(path, { header: false });
    expect(manifest.columns).toEqual(['column_1', 'column_2', 'column_3', 'column_4']);
    expect(manifest.keyName).toEqual({ email: 'column_2', linkedin_url: 'column_3', domain: 'column_4' });
    expect((await rowsOf(manifest)).map(({ email }) => email)).toEqual(['ada@works.example', 'bob@works.example']);
  });

  it('takes a configured column before one that is found', async () => {
    const path = await put(await temporaryFolder(), 'raw.csv', 'a@works.example,b@works.example\n');
    const { keyName } = await freeze(path, { header: false, columns: { email: 'column_2' } });
    expect(keyName.email).toBe('column_2');
  });

  it('below a line that states its delimiter begins behind that line', async () => {
    const path = await put(await temporaryFolder(), 'raw.csv', 'sep=;\nAda;ada@works.example\n');
    const manifest = await freeze(path, { header: false });
    expect(await rowsOf(manifest)).toEqual([{ line: 2, email: 'ada@works.example', values: ['Ada', 'ada@works.example'] }]);
  });

  it('without a key by its values is refused', async () => {
    const path = await put(await temporaryFolder(), 'raw.csv', 'Ada,Paris\nBob,Rome\n');
    await expect(freeze(path, { header: false })).rejects.toMatchObject({ code: 'input_no_columns' });
  });
});
