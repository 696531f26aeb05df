/** `Email` and `email` in one file are alike in every format. */
import { describe, expect, it } from 'vitest';
import { readRecords } from '../../src/formats/read-records.ts';
import type { InputManifest } from '../../src/formats/input-record.ts';
import { freeze, put, scratchFolder } from './helpers.ts';

const folder = scratchFolder();

async function emailsIn(manifest: InputManifest): Promise<string[]> {
  const emails = [];
  for await (const batch of readRecords(manifest, null)) emails.push(...batch.map(({ email }) => email));
  return emails;
}

describe('two columns whose names differ in case only', () => {
  const rows: readonly (readonly [string, string])[] = [
    ['a@x.example', ''],
    ['', 'b@x.example'],
    ['c@x.example', 'd@x.example'],
    [' ', ''],
  ];

  it('a blank cell of one leaves the record to the other, in every format', async () => {
    const csv = `Email,email\n${rows.map((row) => row.join(',')).join('\n')}\n`;
    const objects = rows.map(([Email, email]) => JSON.stringify({ Email, email }));
    const found = [];
    for (const [name, text] of [
      ['twins.csv', csv],
      ['twins.tsv', csv.replaceAll(',', '\t')],
      ['twins.jsonl', objects.join('\n')],
    ] as const)
      found.push((await emailsIn(await freeze(await put(folder, name, text)))).map((email) => email.trim()));
    expect(new Set(found.map((emails) => emails.join(' ')))).toEqual(new Set(['a@x.example b@x.example c@x.example ']));
    expect(found).toHaveLength(3);
  });

  it('JSON lines of two programs are one column', async () => {
    const manifest = await freeze(
      await put(folder, 'mixed.jsonl', '{"Email":"a@x.example"}\n{"email":"b@x.example"}\n{"EMAIL":["c@x.example"]}\n'),
    );
    expect(await emailsIn(manifest)).toEqual(['a@x.example', 'b@x.example', 'c@x.example']);
  });
});
