import * as fc from '../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { fitsPattern, learnPattern, type NamedAddress } from '../../src/verification/pattern.ts';

const PEOPLE = [
  ['Jane', 'Doe'],
  ['Søren', 'Østergård'],
  ['Jérôme', 'Noël'],
  ['Ann-Marie', "O'Hara"],
  ['Max', 'Muster'],
  ['Li', 'Wei'],
] as const;
const plain = (name: string): string =>
  name
    .normalize('NFD')
    .toLowerCase()
    .replaceAll(/[^\p{L}]/gu, '');

const written = (pattern: string, [first, last]: readonly [string, string]): NamedAddress => ({
  first,
  last,
  local: pattern
    .replace('{first}', plain(first))
    .replace('{last}', plain(last))
    .replace('{f}', plain(first).slice(0, 1))
    .replace('{l}', plain(last).slice(0, 1)),
});

describe('learnPattern', () => {
  const patterns = ['{first}.{last}', '{first}_{last}', '{f}.{last}', '{first}-{l}', '{f}{last}', '{last}.{first}', '{first}', '{last}{f}'];

  it.each(patterns)('learns %s from people with known names, also with accents', (pattern) => {
    expect(learnPattern(PEOPLE.map((person) => written(pattern, person)))).toBe(pattern);
  });

  it('needs at least three people, and two thirds of those with known names', () => {
    const [one, two, ...rest] = PEOPLE.map((person) => written('{first}.{last}', person)) as [
      NamedAddress,
      NamedAddress,
      ...NamedAddress[],
    ];
    expect(learnPattern([one, two])).toBeNull();
    const others = [1, 2, 3].map((n): NamedAddress => ({ first: 'Some', last: 'Body', local: `employee${n}` }));
    expect(learnPattern([one, two, ...rest, ...others])).toBe('{first}.{last}');
    expect(learnPattern([one, two, ...rest.slice(0, 2), ...others])).toBeNull();
    // People without names do not count for or against a pattern.
    expect(learnPattern([one, two, ...rest, ...Array.from({ length: 50 }, (_, n) => ({ first: '', last: '?', local: `x${n}` }))])).toBe(
      '{first}.{last}',
    );
  });

  it('the addresses that a pattern with a separator was learnt from fit it', () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ local: fc.string(), first: fc.string(), last: fc.string() })),
        fc.constantFrom(...patterns),
        (strangers, pattern) => {
          const own = PEOPLE.map((person) => written(pattern, person));
          const learnt = learnPattern([...strangers, ...own]);
          expect([pattern, null]).toContain(learnt);
          if (learnt !== null && /[._-]/.test(learnt)) for (const { local } of own) expect(fitsPattern(local, learnt)).toBe(true);
        },
      ),
    );
  });
});
