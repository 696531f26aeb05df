/** The list of people who are never asked about. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { digestOfLine, SuppressedPeople } from '../../src/processor/suppressed-people.ts';
import * as fc from '../support/fast-check.ts';

const address = fc.nat(400).map((n) => `person-${n}@works-${n % 7}.example`);
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const spelt = (text: string) =>
  fc.constantFrom(text, text.toUpperCase(), ` ${text} `, `mailto:${text}`, `Jo <${text}>`, `"${text}"`, text.replace('@', '\uff20'));
const people = (lines: readonly string[]): SuppressedPeople => new SuppressedPeople(lines.map(digestOfLine).filter((one) => one !== null));

test('a list has exactly its people, however a list and a cell spell them', () => {
  fc.assert(
    fc.property(
      fc.array(address.chain((one) => fc.tuple(fc.constant(one), fc.oneof(spelt(one), fc.constant(sha256(one)))))),
      fc.array(address.chain((one) => fc.tuple(fc.constant(one), spelt(one)))),
      (listed, cells) => {
        const list = people(listed.map(([, line]) => line));
        const names = new Set(listed.map(([one]) => one));
        for (const [one, cell] of cells) expect([one, list.has(cell)]).toEqual([one, names.has(one)]);
      },
    ),
  );
});

test.each(['', 'n/a', 'works.example', sha256('a@x.example').slice(1), '# a@'])('the line %j names nobody', (line) => {
  expect(digestOfLine(line)).toBeNull();
});

test('an empty list, and a cell without an address, have nobody', () => {
  expect([people([]).has('a@x.example'), people(['a@x.example']).has(''), people(['a@x.example']).has('N/A')]).toEqual([
    false,
    false,
    false,
  ]);
});
