import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import type { InputManifest, KeyNames } from '../../src/formats/input-record.ts';
import { readRecords } from '../../src/formats/read-records.ts';
import { freeze, put, scratchFolder } from '../formats/helpers.ts';

const folder = scratchFolder();
let number = 0;

/** The manifest of a table with these rows, header first. */
async function tableOf(rows: readonly (readonly string[])[], overrides: Parameters<typeof freeze>[1] = {}): Promise<InputManifest> {
  const text = rows.map((cells) => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(',')).join('\n');
  return freeze(await put(folder, `table-${number++}.csv`, `${text}\n`), overrides);
}

const keysOf = async (...args: Parameters<typeof tableOf>): Promise<KeyNames> => (await tableOf(...args)).keyName;

/** Rows with a person each. */
const people = (count: number, cells: (at: number) => readonly string[]): string[][] =>
  Array.from({ length: count }, (_, at) => [...cells(at)]);

describe('a column whose name says nothing', () => {
  it('a column is the key that most of its cells have the form of, blank cells left out', async () => {
    expect(
      await keysOf([
        ['a', 'b', 'c'],
        ['x@y.example', '', 'acme.example'],
        ['', '', 'www.acme.example/about'],
        ['nobody', 'b', 'https://ü.example'],
      ]),
    ).toEqual({
      email: null,
      domain: 'c',
      linkedin_url: null,
    });
    expect(
      await keysOf([
        ['a', 'b', 'c'],
        ['x@y.example', '1.5', '12'],
        ['nobody', '2.5', '13'],
        ['z@y.example', '3', '14'],
      ]),
    ).toEqual({
      email: 'a',
      domain: null,
      linkedin_url: null,
    });
    const profiles = people(4, (at) => [`Ada ${at}`, `https://de.linkedin.com/in/ada-${at}/?x=1`, `ada.${at}`]);
    expect(await keysOf([['who', 'page', 'login'], ...profiles])).toEqual({ email: null, domain: null, linkedin_url: 'page' });
  });

  it('the address is the column with the most different ones, and no column of owners', async () => {
    const rows = people(20, (at) => ['rep@us.example', at < 12 ? '' : `b${at}@x.example`, `a${at}@x.example`, 'sales@us.example']);
    expect((await keysOf([['Kontoinhaber', 'Zweit', 'Erst', 'Record owner'], ...rows])).email).toBe('Erst');
    expect(
      (
        await keysOf([
          ['Created by', 'Website', 'n', 'Record owner'],
          ...people(9, (at) => ['r@us.example', `a${at}.example`, '', 'r@us.example']),
        ])
      ).email,
    ).toBeNull();
  });

  it('a column of pages with one host, or of logos, is no domain', async () => {
    const rows = people(20, (at) => [`a${at}@x.example`, `https://crm.example/records/${at}`, `https://cdn${at}.example/logo.png`]);
    expect((await keysOf([['Email', 'Link', 'Logo'], ...rows])).domain).toBeNull();
  });

  it('a column whose name means another key is left out', async () => {
    expect(
      (await keysOf([['Email', 'linkedin_url'], ...people(9, (at) => ['', `https://linkedin${at}.example/in/ada`])])).domain,
    ).toBeNull();
  });

  it('a column is the phone number only where all its numbers say their country', async () => {
    const wanted = { personColumns: ['phone'] as const };
    expect((await keysOf([['Email', 'n'], ...people(5, (at) => ['a@x.example', `+4420794600${at}0`])], wanted)).phone).toBe('n');
    expect((await keysOf([['Email', 'n'], ...people(5, (at) => ['a@x.example', `123456${at}`])], wanted)).phone).toBeNull();
  });

  it('a column of addresses takes the place of one with the right name and no address', async () => {
    const rows = people(5, (at) => ['yes', `a${at}@x.example`]);
    expect((await keysOf([['Email', 'reachable at'], ...rows])).email).toBe('reachable at');
    expect((await keysOf([['Email', 'note'], ...people(5, () => ['yes', 'none'])])).email).toBe('Email');
  });
});

describe('a file that is no table', () => {
  const page = '<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>';
  it.each([
    ['an error of S3', page],
    ['an error of S3 on one line', page.replace('\n', '')],
    ['a page', '<!DOCTYPE html>\n<html><head><title>403, a@x.example</title></head>\n<body>a@x.example,b\n</body></html>\n'],
    ['a message', 'Access denied'],
    ['a message with a line end', 'Access denied\n'],
    ['a line without a usable column', 'Ada,Paris,12\n'],
    ['a message in JSON', '{"message":"Access denied"}\n'],
    ['a list of addresses without a header', 'a@x.example\nb@x.example\nc@x.example\n'],
    ['a list of domains without a header', 'a.example\nb.example\nc.example\n'],
  ])('%s is refused under any name, plain and compressed, alone and among others', async (_, text) => {
    for (const name of ['page.csv', 'page.tsv', 'page.jsonl', 'page', 'page.csv.gz']) {
      if (name.endsWith('.jsonl') && !text.startsWith('{') && !text.startsWith('<')) continue;
      const path = await put(folder, `page-${number++}/${name}`, name.endsWith('.gz') ? gzipSync(text) : text);
      await expect(freeze(path)).rejects.toMatchObject({ code: 'input_no_columns', exitCode: 65 });
      if (!name.includes('.csv')) continue;
      const good = await put(folder, `page-${number++}/good.csv`, 'email\na@x.example\n');
      await expect(freeze([good, path])).rejects.toMatchObject({ code: 'input_no_columns', exitCode: 65 });
    }
  });

  it('an empty file, blank lines and a header with a usable column are tables without records', async () => {
    for (const text of ['', '\n\n', '\ufeff', 'email\n', 'Kundenmail;Name\n'])
      expect((await freeze(await put(folder, `none-${number++}.csv`, text))).files).toHaveLength(1);
  });
});

describe('two columns for one key', () => {
  it.each([
    [20, 20, 'Email'],
    [20, 19, 'Email'],
    [19, 20, 'Email'],
    [4, 20, 'Work Email'],
    [0, 1, 'Work Email'],
  ])('the better name with %i addresses beside the other with %i: it is %s', async (first, second, expected) => {
    const rows = people(20, (at) => [at < first ? `a${at}@x.example` : '', at < second ? `b${at}@x.example` : '']);
    expect((await keysOf([['Email', 'Work Email'], ...rows])).email).toBe(expected);
  });

  it('a private address comes last, whatever its name', async () => {
    const rows = people(3, (at) => [`p${at}@x.example`, `w${at}@x.example`]);
    for (const name of ['Personal Email', 'E-Mail (privat)', 'Mail perso', 'Lead: Private E-Mail'])
      expect((await keysOf([[name, 'E-Mail (geschäftlich)'], ...rows])).email).toBe('E-Mail (geschäftlich)');
  });

  it('files with the same columns have the same keys, by the records of all of them', async () => {
    const name = (at: number): string => `same/${number}-${at}.csv`;
    await put(folder, name(1), 'Email,Work Email\na@x.example,\n');
    await put(
      folder,
      name(2),
      `Email,Work Email\n${people(5, (at) => ['', `b${at}@x.example`])
        .map((row) => row.join(','))
        .join('\n')}\n`,
    );
    const manifest = await freeze([1, 2].map((at) => `${folder.replace(/\/$/, '')}/${name(at)}`));
    expect(manifest.files.map(({ keys }) => keys.email)).toEqual(['Work Email', 'Work Email']);
    expect(manifest.keyName.email).toBe('Work Email');
  });
});

describe('a column that the job names', () => {
  it('the named column is used whatever it holds, and is no other key', async () => {
    const rows = people(5, (at) => [`a${at}@x.example`, 'b.example', `c${at}.example`]);
    expect(await keysOf([['Email', 'Website', 'Other'], ...rows], { columns: { domain: 'Email' } })).toEqual({
      email: null,
      domain: 'Email',
      linkedin_url: null,
    });
  });
});

it('the choice is the same for the same input, whatever its format', async () => {
  const rows = people(30, (at) => [`Ada ${at}`, at % 3 === 0 ? '' : `a${at}@x.example`, `c${at}.example`]);
  const lines = rows.map(([who, kontakt, seite]) => JSON.stringify({ who, kontakt, seite }));
  const json = await freeze(await put(folder, 'same.jsonl', lines.join('\n')));
  expect(json.keyName).toEqual({ email: 'kontakt', domain: 'seite', linkedin_url: null });
  const table = await tableOf([['who', 'kontakt', 'seite'], ...rows]);
  expect(table.keyName).toEqual(json.keyName);
  for (const manifest of [json, table]) {
    const emails = [];
    for await (const batch of readRecords(manifest, null)) emails.push(...batch.map(({ email }) => email));
    expect(emails).toEqual(rows.map(([, email]) => email));
  }
});
