import { describe, expect, it } from 'vitest';
import { keyText } from '../../../src/formats/jsonl/key-text.ts';
import { readRecords } from '../../../src/formats/read-records.ts';
import { findSplitPoints } from '../../../src/reader/split-points.ts';
import { freeze, put, scratchFolder, utf16 } from '../helpers.ts';

const folder = scratchFolder();

describe('a key in a JSON value', () => {
  it.each([
    [['a@x.example'], 'a@x.example'],
    [['', null, 'a@x.example', 'b@x.example'], 'a@x.example, b@x.example'],
    [12125550100, '12125550100'],
    [1e21, ''],
    [1.5, ''],
    [true, ''],
    [null, ''],
    [{ email: 'a@x.example' }, ''],
    [
      [
        { label: 'home', value: 'h@x.example' },
        { label: 'work', value: 'w@x.example', primary: true },
      ],
      'w@x.example, h@x.example',
    ],
    [[{ type: 'work' }, [['deep']]], ''],
  ])('the key of %j is %j', (value, text) => {
    expect(keyText(value)).toBe(text);
  });
});

it('lists, numbers and objects behind a byte order mark in the middle of a file are records, in every encoding', async () => {
  const lines = ['{"emails":["a@x.example"]}', '\ufeff{"emails":"b@x.example"}', '\ufeff', '\ufeff \t', '{"emails":7}'];
  for (const [name, bytes] of [
    ['utf8', Buffer.from(lines.join('\n'))],
    ['utf16', utf16(lines.join('\n'), 'le')],
  ] as const) {
    const manifest = await freeze(await put(folder, `${name}.jsonl`, bytes));
    const emails = [];
    for await (const batch of readRecords(manifest, null)) emails.push(...batch.map(({ email, bad }) => [email, bad]));
    expect(emails).toEqual([
      ['a@x.example', null],
      ['b@x.example', null],
      ['7', null],
    ]);
    expect(await findSplitPoints(manifest, { of: 1, group: 1 })).toMatchObject([{ records: 3 }]);
  }
});
