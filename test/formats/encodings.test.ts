import { gzipSync } from 'node:zlib';
import * as fc from '../support/fast-check.ts';
import { describe, expect, test } from 'vitest';
import { createCodec, encodingName } from '../../src/formats/encodings/encoding.ts';
import { casesOf } from '../support/sample.ts';
import { code, freeze, put, readAll, scratchFolder, withoutFrames } from './helpers.ts';
import { SEED } from '../support/seed.ts';

const folder = scratchFolder();

/** Encodes a text by searching each character among all that the platform decodes. */
const encoders = new Map<string, Map<string, Buffer>>();
function encoderOf(encoding: string): Map<string, Buffer> {
  const known = encoders.get(encoding);
  if (known !== undefined) return known;
  const table = new Map<string, Buffer>();
  const decoder = new TextDecoder(encoding);
  const note = (bytes: readonly number[]): void => {
    const text = decoder.decode(Uint8Array.from(bytes));
    if (Array.from(text).length === 1 && !/[\ufffd\u0080-\u009f\ue000-\uf8ff]/.test(text) && !table.has(text))
      table.set(text, Buffer.from(bytes));
  };
  for (let one = 0; one < 256; one++) note([one]);
  if (createCodec(encoding).valid !== createCodec('utf-8').valid)
    for (let one = 0x81; one < 0xff; one++) for (let two = 0x30; two < 0xff; two++) note([one, two]);
  encoders.set(encoding, table);
  return table;
}

const encode = (text: string, encoding: string): Buffer =>
  Buffer.concat(Array.from(text, (sign) => encoderOf(encoding).get(sign) ?? Buffer.from('?')));

const SAMPLES: readonly (readonly [encoding: string, name: string])[] = [
  ['shift_jis', '\u5c71\u7530\u592a\u90ce \u30bd\u30fc\u8868\u4e88 \uff76\uff80\uff76\uff85'],
  ['euc-jp', '\u5c71\u7530\u592a\u90ce'],
  ['gbk', '\u738b\u5c0f\u660e \u8c22'],
  ['gb18030', '\u674e\u534e \u20ac'],
  ['big5', '\u9673\u5fd7\u660e \u529f\u8a31'],
  ['euc-kr', '\uae40\ucca0\uc218'],
  ['windows-1250', 'Wa\u0142\u0119sa'],
  ['windows-1251', '\u0418\u0432\u0430\u043d'],
  ['koi8-r', '\u0418\u0432\u0430\u043d'],
  ['koi8-u', '\u0407\u0436\u0430\u043a'],
  ['ibm866', '\u0418\u0432\u0430\u043d'],
  ['windows-1252', 'Fran\u00e7ois \u20ac'],
  ['iso-8859-2', 'Wa\u0142\u0119sa'],
  ['iso-8859-5', '\u0418\u0432\u0430\u043d'],
  ['iso-8859-7', '\u0391\u03bd\u03b4\u03c1\u03ad\u03b1\u03c2'],
  ['iso-8859-15', '\u0153uvre \u20ac'],
  ['iso-8859-16', '\u021atefan'],
  ['windows-1253', '\u0391\u03bd\u03b4\u03c1\u03ad\u03b1\u03c2'],
  ['windows-1254', 'I\u015f\u0131k'],
  ['windows-1255', '\u05d3\u05d5\u05d3'],
  ['windows-1256', '\u0639\u0644\u064a'],
  ['windows-1257', '\u017demaitis'],
  ['windows-1258', '\u01a1\u01b0'],
  ['windows-874', '\u0e2a\u0e21\u0e0a\u0e32\u0e22'],
  ['macintosh', 'Fran\u00e7ois'],
  ['x-mac-cyrillic', '\u0418\u0432\u0430\u043d'],
];

describe(`encodings (SEED=${SEED})`, () => {
  test.each(SAMPLES)('a file in %s is read from every record on, in chunks of any size', async (encoding, name) => {
    const rows = [
      'email|name|note',
      `a@works.example|${name}|"two\n${name}"`,
      `b@works.example|${name}${name}|x`,
      `c@works.example|"${name}"|`,
      `d@works.example||${name}`,
    ];
    const bytes = encode(`${rows.join('\r\n')}\r\n`, encoding);
    expect(new TextDecoder(encoding).decode(bytes)).toBe(`${rows.join('\r\n')}\r\n`);
    for (const [suffix, content] of [
      ['', bytes],
      ['.gz', gzipSync(bytes)],
    ] as const) {
      const manifest = await freeze(await put(folder, `${encoding}.csv${suffix}`, content), { encoding, delimiter: '|' });
      expect(manifest.files[0]).toMatchObject({ encoding });
      const all = await readAll(manifest);
      expect(all.map(({ values }) => values)).toEqual([
        ['a@works.example', name, `two\n${name}`],
        ['b@works.example', name + name, 'x'],
        ['c@works.example', name, ''],
        ['d@works.example', '', name],
      ]);
      expect(all.at(-1)?.end.offset).toBe(bytes.length);
      for (const [index, { end }] of all.entries()) {
        for (const chunkBytes of [1, 3, 65_536])
          expect(withoutFrames(await readAll(manifest, end, chunkBytes))).toEqual(withoutFrames(all.slice(index + 1)));
      }
    }
  });

  test('ISO-2022-JP is read, and a line that does not end in ASCII is a bad row', async () => {
    const name = Buffer.concat([Buffer.from('\x1b$B'), Buffer.from([0x3b, 0x33, 0x45, 0x44, 0x22, 0x2c]), Buffer.from('\x1b(B')]);
    const text = Buffer.concat([
      Buffer.from('email,name\na@works.example,'),
      name,
      Buffer.from('\nb@works.example,'),
      name.subarray(0, -3),
      Buffer.from('\nc@works.example,C\n'),
    ]);
    const path = await put(folder, 'iso-2022-jp.csv', text);
    await expect(freeze(path)).rejects.toMatchObject({
      code: 'input_encoding',
      hint: expect.stringContaining('--input.encoding iso-2022-jp') as string,
    });
    const manifest = await freeze(path, { encoding: 'iso-2022-jp' });
    const all = await readAll(manifest);
    expect(all.map(({ bad }) => bad)).toEqual([null, 'not valid iso-2022-jp', null]);
    expect(all[0]?.values).toEqual([
      'a@works.example',
      '\u5c71\u7530\u25a1'.replace('\u25a1', new TextDecoder('iso-2022-jp').decode(Buffer.from('\x1b$B\x22\x2c\x1b(B'))),
    ]);
    for (const [index, { end }] of all.entries())
      for (const chunkBytes of [1, 4, 65_536])
        expect(withoutFrames(await readAll(manifest, end, chunkBytes))).toEqual(withoutFrames(all.slice(index + 1)));
  });

  test('offsets do not depend on chunks, and reading can continue at each record, for any bytes in any encoding', async () => {
    let made = 0;
    const piece = fc.oneof(
      fc.constantFrom('a@b.example', ',', '\n', '\r\n', '\r', '"', '|', '\x1b$B', '\x1b(B').map((text) => Buffer.from(text, 'latin1')),
      fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes)),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom('shift_jis', 'euc-jp', 'gbk', 'gb18030', 'big5', 'euc-kr', 'iso-2022-jp', 'koi8-r', 'windows-1252'),
        fc.array(piece, { maxLength: 30 }),
        fc.constantFrom(1, 2, 5),
        async (encoding, pieces, chunkBytes) => {
          const bytes = Buffer.concat([Buffer.from('email,b\na@b.example,1\n'), ...pieces]);
          const path = await put(folder, `any-${made++ % 10}.csv`, bytes);
          const manifest = await freeze(path, { encoding, delimiter: ',' }).catch((error: unknown) => {
            expect(code(error)).toBe('input_binary');
            return null;
          });
          if (manifest === null) return;
          const all = await readAll(manifest);
          expect(await readAll(manifest, null, chunkBytes)).toEqual(all);
          for (const [index, { end }] of all.entries()) expect(await readAll(manifest, end, chunkBytes)).toEqual(all.slice(index + 1));
          for (const { end } of all) expect(end.offset).toBeLessThanOrEqual(bytes.length);
        },
      ),
      { seed: SEED, numRuns: casesOf(40, 300) },
    );
  });

  test('bytes of EUC-KR and Big5 that the platform cannot decode make a bad row, and no wrong letter', async () => {
    for (const [encoding, bytes] of [
      ['euc-kr', [0x8c, 0x63]],
      ['big5', [0x87, 0x40]],
      ['big5', [0x83, 0x5c]],
      ['shift_jis', [0xa0, 0x41]],
      ['euc-jp', [0x81, 0x41]],
    ] as const) {
      const manifest = await freeze(
        await put(
          folder,
          'beyond.csv',
          Buffer.concat([Buffer.from('email,name\na@works.example,'), Buffer.from(bytes), Buffer.from('\nb@works.example,B\n')]),
        ),
        { encoding },
      );
      expect((await readAll(manifest)).map(({ bad, email }) => [bad, email])).toEqual([
        [`not valid ${encoding}`, ''],
        [null, 'b@works.example'],
      ]);
    }
  });

  test.each([
    ['sjis', 'shift_jis'],
    ['Shift_JIS', 'shift_jis'],
    ['latin1', 'windows-1252'],
    ['ISO-8859-1', 'windows-1252'],
    ['gb2312', 'gbk'],
    ['cp1251', 'windows-1251'],
    ['ks_c_5601-1987', 'euc-kr'],
    ['UTF8', 'utf-8'],
    ['utf-16', 'utf-16'],
    ['utf-16be', 'utf-16be'],
    ['x-user-defined', null],
    ['replacement', null],
    ['shift-jsi', null],
    ['', null],
  ])('the label %j means %j', (label, name) => {
    expect(encodingName(label)).toBe(name);
  });
});

describe('a file that is not UTF-8, without a configured encoding', () => {
  const PEOPLE: readonly (readonly [string, string, readonly string[]])[] = [
    ['shift_jis', '\u5c71\u7530\u592a\u90ce,\u682a\u5f0f\u4f1a\u793e\u30bd\u30cb\u30fc', ['shift_jis']],
    ['euc-jp', '\u5c71\u7530\u592a\u90ce,\u30bd\u30cb\u30fc\u306e\u3072\u3068\u305f\u3061', ['euc-jp']],
    ['gb18030', '\u738b\u5c0f\u660e,\u5317\u4eac\u79d1\u6280\u6709\u9650\u516c\u53f8', ['gb18030']],
    ['big5', '\u9673\u5fd7\u660e,\u53f0\u5317\u79d1\u6280\u80a1\u4efd\u6709\u9650\u516c\u53f8', ['big5']],
    ['euc-kr', '\uae40\ucca0\uc218,\uc0bc\uc131\uc804\uc790', ['euc-kr']],
    ['windows-1251', '\u0418\u0432\u0430\u043d,\u041c\u043e\u0441\u043a\u0432\u0430', ['windows-1251']],
    ['koi8-r', '\u0418\u0432\u0430\u043d,\u041c\u043e\u0441\u043a\u0432\u0430', ['koi8-r']],
    ['windows-1253', '\u0391\u03bd\u03b4\u03c1\u03ad\u03b1\u03c2,\u0391\u03b8\u03ae\u03bd\u03b1', ['windows-1253']],
    ['windows-1252', 'Fran\u00e7ois,Orl\u00e9ans', ['windows-1252']],
  ];

  test.each(PEOPLE)('a file in %s is refused with its line and the name of an encoding that reads it', async (encoding, cells) => {
    const path = await put(
      folder,
      `unsaid-${encoding}.csv`,
      encode(`email,name,company\n${`a@works.example,${cells}\n`.repeat(20)}`, encoding),
    );
    await expect(freeze(path)).rejects.toMatchObject({
      code: 'input_encoding',
      exitCode: 65,
      message: expect.stringMatching(/is not UTF-8: line 2 has the byte 0x/) as string,
      hint: expect.stringContaining(encoding) as string,
    });
    expect((await readAll(await freeze(path, { encoding })))[0]?.values?.slice(1).join(',')).toBe(cells);
  });

  test('a few invalid bytes in UTF-8 text make one bad row each', async () => {
    const path = await put(
      folder,
      'few.csv',
      Buffer.concat([
        Buffer.from('email,name\na@works.example,Zo\u00eb\nb@works.example,Zo\u00eb\nc@works.example,'),
        Buffer.from([0xe9]),
        Buffer.from('\nd@works.example,Zo\u00eb\n'),
      ]),
    );
    expect((await readAll(await freeze(path))).map(({ bad }) => bad)).toEqual([null, null, 'not valid utf-8', null]);
  });
});
