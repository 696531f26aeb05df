import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { code, freeze, put, readAll, scratchFolder } from './helpers.ts';

const folder = scratchFolder();
const formats = join(import.meta.dirname, '../../fixtures/formats');
const HEADER = ['Id', 'Work E-mail', 'First Name', 'Company', 'Website'];
const PEOPLE = [
  ['1', 'ana.ruiz@northwind.example', 'Ana', 'Northwind, Ltd', 'northwind.example'],
  ['2', 'BO.LI@Tailspin.Example', 'Bo', 'Tailspin "Toys"', 'https://www.tailspin.example/about'],
  ['3', '', 'Chidi', 'Fabrikam', 'fabrikam.example'],
  ['4', 'dora@umlaut.example', 'Dóra', 'Müller & Söhne', ''],
  ['5', 'emi@kanji.example', '恵美', '株式会社見本', 'kanji.example'],
  ['6', ' frida@spaces.example ', 'Frida', 'Spaces Inc', 'spaces.example'],
  ['7', 'not-an-address', 'Gus', 'Contoso', 'contoso.example'],
  ['8', 'hana@lines.example', 'Hana', 'Two\nLines', 'lines.example'],
  ['9', '', 'Ivo', '', ''],
  ['10', 'ana.ruiz@northwind.example', 'Ana', '=1+1', 'northwind.example'],
  ['11', 'jo@accents.example', 'Joël', 'Crème & Fils', 'accents.example'],
  ['12', 'kim@last.example', 'Kim', 'Last 5" Pipe Co', 'last.example'],
];
const WESTERN = PEOPLE.filter(([id]) => id !== '5').map((row) => row.map((value) => value.replace('Fils', 'Fils €')));

async function read(name: string, encoding: 'windows-1252' | null = null) {
  const manifest = await freeze(join(formats, name), { encoding });
  return { manifest, file: manifest.files[0], records: await readAll(manifest) };
}

describe('fixtures/formats', () => {
  it.each([
    ['people.csv', 'csv', ',', 'utf-8', 'none', PEOPLE],
    ['people.tsv', 'tsv', '\t', 'utf-8', 'none', PEOPLE],
    ['people-semicolon.csv', 'csv', ';', 'utf-8', 'none', PEOPLE],
    ['people-pipe.csv', 'csv', '|', 'utf-8', 'none', PEOPLE],
    ['people-utf16.csv', 'csv', '\t', 'utf-16le', 'none', PEOPLE],
    ['people-windows-1252.csv', 'csv', ';', 'windows-1252', 'none', WESTERN],
    ['people.csv.gz', 'csv', ',', 'utf-8', 'gzip', PEOPLE],
  ] as const)('%s is detected and read', async (name, format, delimiter, encoding, compression, people) => {
    const { manifest, file, records } = await read(name, encoding === 'windows-1252' ? encoding : null);
    expect(manifest).toMatchObject({
      format,
      columns: HEADER,
      keyName: { email: 'Work E-mail', domain: 'Website', linkedin_url: null },
      files: [{ keys: { email: 'Work E-mail', domain: 'Website', linkedin_url: null } }],
    });
    expect(file).toMatchObject({ delimiter, encoding, compression, header: HEADER });
    expect(records.map(({ values }) => values)).toEqual(people);
    expect(records.map(({ email, domain }) => [email, domain])).toEqual(people.map((row) => [row[1], row[4]]));
    // The company in record 8 contains a line break, so later records are one line further down.
    expect(records.map(({ line }) => line)).toEqual(people.map((row, index) => index + 2 + (Number(row[0]) > 8 ? 1 : 0)));
    expect(records.every(({ bad, json, raw }) => bad === null && json === null && raw === null)).toBe(true);
  });

  it.each(['people.jsonl', 'people.jsonl.zst'])('%s has the records of the fixture', async (name) => {
    const { manifest, records } = await read(name);
    expect(manifest).toMatchObject({
      format: 'jsonl',
      columns: [],
      keyName: { email: 'Work E-mail', domain: 'Website', linkedin_url: null },
    });
    const lines = (await readFile(join(formats, 'people.jsonl'), 'utf8')).split('\n');
    expect(records.map(({ line }) => line)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 15, 16]);
    for (const { line, bad, json, raw, email } of records) {
      const text = lines[line - 1] ?? '';
      if (line <= 13) {
        expect([bad, json, raw]).toEqual([null, text, null]);
        expect(email).toBe((JSON.parse(text) as Record<string, unknown>)['Work E-mail'] ?? '');
      } else expect([bad, json, raw]).toEqual([line === 15 ? 'not valid JSON' : 'not a JSON object', JSON.stringify(text), text]);
    }
    expect((await freeze(join(formats, name), { needColumns: true })).columns).toEqual([...HEADER, 'tags']);
  });

  it('people.jsonl with Windows line ends has the same records, including those that are not JSON', async () => {
    const text = await readFile(join(formats, 'people.jsonl'), 'utf8');
    const said = async (path: string): Promise<unknown> =>
      (await readAll(await freeze(path))).map(({ line, json, email, bad, raw }) => ({ line, json, email, bad, raw }));
    expect(await said(await put(folder, 'windows.jsonl', text.replaceAll('\n', '\r\n')))).toEqual(
      await said(join(formats, 'people.jsonl')),
    );
  });

  it('unclosed-quote.csv has one bad row, and loses no other', async () => {
    const { records } = await read('unclosed-quote.csv');
    expect(records.map(({ line, values, bad }) => [line, values, bad])).toEqual([
      [2, ['a@one.example', 'One'], null],
      [3, ['b@two.example', '"Two'], 'a quote is not closed'],
      [4, ['c@three.example', 'Three'], null],
      [5, ['d@four.example', 'Four "4"'], null],
      [6, ['e@five.example', '"Acme "The Best" Co"'], null],
    ]);
  });

  it.each(['header-only.csv', 'empty.csv'])('%s has no records and no error', async (name) => {
    const { manifest, records } = await read(name);
    expect(records).toEqual([]);
    expect(manifest.columns).toEqual(name === 'empty.csv' ? [] : ['email', 'company']);
  });

  it.each([
    ['duplicate-header.csv', 'input_duplicate_columns', '"name"'],
    ['no-key-column.csv', 'input_no_columns', 'found columns: "name", "city"'],
    ['binary.csv', 'input_binary', 'xlsx'],
    ['people-windows-1252.csv', 'input_encoding', 'line 5 has the byte 0xf3'],
  ])('%s is refused with %s', async (name, wanted, words) => {
    const error: unknown = await read(name).catch((failure: unknown) => failure);
    expect(code(error)).toBe(wanted);
    expect(error).toMatchObject({ exitCode: 65 });
    expect(String(error)).toContain(words);
    expect(String(error)).toContain(name);
  });
});
