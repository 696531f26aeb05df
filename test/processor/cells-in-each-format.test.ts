/** The meaning of a cell in each format: the key that a record has by it. */
import { describe, expect, it } from 'vitest';
import { loadKeys } from '../../src/processor/load-keys.ts';
import { parquetFile } from '../formats/parquet/written.ts';
import { scratchReader } from '../formats/helpers.ts';
import { compiled, LEAST } from '../definition/support.ts';
import { TEXT } from '../../src/formats/parquet/column-type.ts';

const read = scratchReader();

/** The columns of the cells, and the key of the record; null for none. */
const CELLS: readonly (readonly [name: string, cells: Readonly<Record<string, string>>, key: string | null])[] = [
  ['a formula', { Email: '="a@x.example"' }, 'a@x.example'],
  ['a number after an apostrophe', { Phone: "'+44 20 7946 0101" }, '+442079460101'],
  ['a formula of a number', { Phone: '="+442079460101"' }, '+442079460101'],
  ['a tel: address', { Phone: 'tel:+44-20-7946-0101' }, '+442079460101'],
  ['an extension', { Phone: '+44 20 7946 0101 ext. 5' }, '+442079460101'],
  ['a short extension', { Phone: '+44 20 7946 0101 x12' }, '+442079460101'],
  ['a remark', { Phone: '+44 20 7946 0101 (mobile)' }, '+442079460101'],
  ['full-width digits', { Phone: '\uff0b\uff14\uff14\uff12\uff10\uff17\uff19\uff14\uff16\uff10\uff11\uff10\uff11' }, '+442079460101'],
  ['a national number with the country of the job', { Phone: '030 1234567' }, '+49301234567'],
  ['a national number with the country of its row', { Phone: '020 7946 0101', Country: 'United Kingdom' }, '+442079460101'],
  ['a national number with the code of its row', { Phone: '06 12345678', Country: 'nl' }, '+31612345678'],
  ['a national number of a country that is none', { Phone: '030 1234567', Country: 'Atlantis' }, '+49301234567'],
  ['an international number, whatever the country', { Phone: '+44 20 7946 0101', Country: 'Germany' }, '+442079460101'],
  ['no number', { Phone: 'ext. 5', Country: 'Germany' }, null],
];

const COLUMNS = ['Email', 'Phone', 'Country'] as const;
const quoted = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;

const FORMATS: Readonly<Record<string, (cells: Readonly<Record<string, string>>) => string | Buffer>> = {
  csv: (cells) => `${COLUMNS.join(',')}\n${COLUMNS.map((name) => quoted(cells[name] ?? '')).join(',')}\n`,
  tsv: (cells) => `${COLUMNS.join('\t')}\n${COLUMNS.map((name) => quoted(cells[name] ?? '')).join('\t')}\n`,
  jsonl: (cells) => `${JSON.stringify(Object.fromEntries(COLUMNS.map((name) => [name, cells[name] ?? ''])))}\n`,
  parquet: (cells) =>
    parquetFile(
      COLUMNS.map((name) => ({ name, type: TEXT })),
      [COLUMNS.map((name) => cells[name] ?? '')],
    ),
};

async function keyOf(content: string | Buffer, format: string, country = 'de'): Promise<string | null> {
  const job = compiled({ flags: { ...LEAST, 'enrich.by': 'email,phone', 'input.country': country } });
  const [record] = await read(content, `in.${format}`, { personColumns: ['phone', 'country'] });
  const keysOf = await loadKeys(job, { columns: [...COLUMNS], files: [] } as never);
  const keys = record === undefined ? 'no_key' : keysOf(record);
  return typeof keys === 'string' ? null : (keys.lookups.enrich?.[0]?.key ?? null);
}

describe.each(Object.keys(FORMATS))('a cell of %s', (format) => {
  it.each(CELLS)('with %s', async (_, cells, key) => {
    expect(await keyOf(FORMATS[format]?.(cells) ?? '', format)).toBe(key);
  });
});

it.each([
  ['a list of addresses', '{"emails":["a@x.example"]}', 'a@x.example'],
  ['a number', '{"phone":12125550100}', '+12125550100'],
  ['a byte order mark in the middle', '{"Note":1}\n\ufeff{"Email":"a@x.example"}\n', null],
])('JSON lines with %s', async (_, text, key) => {
  expect(await keyOf(text, 'jsonl', 'us')).toBe(key);
  const records = await read(text, 'in.jsonl', { personColumns: ['phone'] });
  expect(records.filter(({ bad }) => bad !== null)).toEqual([]);
});
