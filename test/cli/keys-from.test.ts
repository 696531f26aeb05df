import { Readable } from 'node:stream';
import * as fc from '../support/fast-check.ts';
import { expect, it } from 'vitest';
import { keysFrom } from '../../src/cli/keys-from.ts';
import type { GivenKey } from '../../src/job/commands/one-off.ts';

async function keysOf(given: readonly string[], stdin: readonly Uint8Array[] = []): Promise<GivenKey[]> {
  const found: GivenKey[] = [];
  for await (const key of keysFrom(given, 'key', Readable.from(stdin, { objectMode: false }))) found.push(key);
  return found;
}

it('keysFrom reads lines however the chunks are cut, and gives null for a line that is not UTF-8', async () => {
  const line = fc.oneof(
    fc
      .string({ unit: 'grapheme' })
      .map((text) => text.replaceAll(/[\r\n]/g, '').trim())
      .map((text) => ({ bytes: Buffer.from(text), text: text === '' ? undefined : text.includes('\0') ? null : text })),
    fc
      .constantFrom(Buffer.from('a\0@\0'), Buffer.from([0xff, 0x40, 0x78]), Buffer.from([0x61, 0xc3]), Buffer.from([0xed, 0xa0, 0x80]))
      .map((bytes) => ({ bytes, text: null })),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 20 }),
      fc.constantFrom('\n', '\r\n', ' \n'),
      fc.array(fc.nat(12), { maxLength: 60 }),
      fc.boolean(),
      async (given, end, cuts, ended) => {
        const all = Buffer.concat(
          given.flatMap(({ bytes }, n) => (n === given.length - 1 && !ended ? [bytes] : [bytes, Buffer.from(end)])),
        );
        const chunks: Buffer[] = [];
        let rest = all;
        for (const cut of cuts) {
          chunks.push(rest.subarray(0, cut));
          rest = rest.subarray(cut);
        }
        const expected = given.flatMap(({ text }, n) =>
          text === undefined || text?.startsWith('\ufeff') === true ? [] : [{ place: n + 1, text }],
        );
        const found = await keysOf(
          ['-'],
          [...chunks, rest].filter(({ length }) => length > 0),
        );
        expect(found.filter(({ place }) => given[place - 1]?.text?.startsWith('\ufeff') !== true)).toEqual(expected);
      },
    ),
  );
});

it('the first key has no byte order mark, and an argument that is not UTF-8 has no text', async () => {
  expect(await keysOf(['-'], [Buffer.from('\ufeffjane@acme.example\n')])).toEqual([{ place: 1, text: 'jane@acme.example' }]);
  expect(await keysOf(['jane@acme.example', 'b\ufffdrn@acme.example'])).toEqual([
    { place: 1, text: 'jane@acme.example' },
    { place: 2, text: null },
  ]);
});
