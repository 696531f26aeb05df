import * as fc from '../../support/fast-check.ts';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { emptyBitmap, rowsIn, setBit } from '../../../src/service/store/index/bitmap.ts';
import { compilePredicate } from '../../../src/service/search/compile-predicate.ts';
import { all, any, not, range, term, type Predicate } from '../../../src/service/search/predicate.ts';
import { intersect } from '../../../src/service/search/intersect.ts';
import { PostingReader } from '../../../src/service/search/posting-reader.ts';
import { loadPeople } from '../../../src/service/store/rows/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { temporaryFolder } from '../harness.ts';
import { toEnd } from '../../support/steps.ts';

const SKILLS = ['a', 'b', 'c', 'd'];
/** Rows on both sides of a block boundary. */
const FIRST = 65_436;
const ROWS = 200;
const PLACES = Array.from({ length: 120 }, (_, n) => `place=1.00,${n}.00`);
const people = Array.from({ length: ROWS }, (_, n) => ({
  id: `pe_${n}`,
  location: { lat: 1, lng: n % 150 },
  email: `n${n}@acme.example`,
  skills: SKILLS.filter((_skill, bit) => ((n * 7) >>> bit) % 2 === 1),
  ...(n % 5 === 0 ? {} : { years_experience: (n * 13) % 90 }),
}));

const predicate: fc.Arbitrary<Predicate> = fc.letrec<{ one: Predicate }>((tie) => ({
  one: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(...SKILLS, 'nobody has it').map((skill) => term(`skills=${skill}`)),
    fc
      .tuple(fc.option(fc.integer({ min: -3, max: 130 })), fc.option(fc.integer({ min: -3, max: 130 })))
      .map(([min, max]) => range('years_experience', min, max)),
    fc.array(fc.nat(ROWS), { maxLength: 5 }).map((rows): Predicate => ({ kind: 'rows', rows: rows.map((row) => FIRST + row) })),
    {
      arbitrary: fc
        .tuple(fc.subarray(PLACES, { minLength: 60 }), fc.array(tie('one'), { maxLength: 2 }))
        .map(([places, others]) => any([any(places.map(term)), ...others, any(places.slice(0, 30).map(term))])),
      weight: 2,
    },
    fc.array(tie('one'), { minLength: 1, maxLength: 3 }).map(all),
    fc.array(tie('one'), { maxLength: 3 }).map(any),
    tie('one').map(not),
  ),
})).one;

function meets(asked: Predicate, n: number): boolean {
  const person = people[n] as (typeof people)[number];
  switch (asked.kind) {
    case 'term':
      return [...person.skills.map((skill) => `skills=${skill}`), `place=1.00,${person.location.lng}.00`].includes(asked.term);
    case 'range':
      return (
        person.years_experience !== undefined &&
        person.years_experience >= (asked.min ?? -Infinity) &&
        person.years_experience <= (asked.max ?? Infinity)
      );
    case 'rows':
      return asked.rows.includes(FIRST + n);
    case 'all':
      return asked.of.every((part) => meets(part, n));
    case 'ids':
      throw new Error('no test draws ids');
    case 'any':
      return asked.of.some((part) => meets(part, n));
    case 'not':
      return !meets(asked.of, n);
    default:
      return asked satisfies never;
  }
}

let store: Store;
let reader: PostingReader;

beforeAll(async () => {
  store = openStore(`${await temporaryFolder()}/store.sqlite`);
  // SQLite assigns the row after the greatest one.
  store
    .prepare("INSERT INTO people (seq, id, name_key, rank, doc, source, observed_at) VALUES (?, 'gap', '', 0, '{}', 1, 0)")
    .run(FIRST - 1);
  loadPeople(store, people, 'test');
  reader = new PostingReader(store, 'person');
});
afterAll(() => store.close());

describe('intersecting rows with predicates', () => {
  it('leaves the rows that match, whether blocks or the terms of rows are read', () => {
    const step = fc.record({ predicate, exclude: fc.boolean() });
    let byRow = 0;
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 4 }), fc.uniqueArray(fc.nat(ROWS - 1), { maxLength: 3 }), (asked, few) => {
        for (const among of [people.map((_, n) => n), few]) {
          const found = emptyBitmap(FIRST + ROWS);
          for (const n of among) setBit(found, FIRST + n);
          toEnd(
            intersect(
              found,
              asked.map(({ predicate: one, exclude }) => ({ compiled: toEnd(compilePredicate(one, reader)), exclude })),
              ROWS,
              (row) => {
                byRow++;
                return reader.termsOf(row);
              },
            ),
          );
          const expected = among
            .filter((n) => asked.every(({ predicate: one, exclude }) => meets(one, n) !== exclude))
            .map((n) => FIRST + n);
          expect([...rowsIn(found)]).toEqual(expected.sort((one, other) => one - other));
        }
      }),
      { numRuns: 300 },
    );
    expect(byRow).toBeGreaterThan(100);
  });

  it('probes a row for a large union at most once for each of its terms', () => {
    const asked = [any(PLACES.map(term)), term('skills=a'), term('skills=b')];
    let [looks, rows] = [0, 0];
    const found = emptyBitmap(FIRST + ROWS);
    for (let n = 0; n < ROWS; n++) setBit(found, FIRST + n);
    toEnd(
      intersect(
        found,
        asked.map((one) => ({ compiled: toEnd(compilePredicate(one, reader)), exclude: false })),
        ROWS,
        (row) => {
          rows++;
          return counted(reader.termsOf(row), () => looks++);
        },
      ),
    );
    expect([...rowsIn(found)]).toEqual(people.flatMap((_, n) => (asked.every((one) => meets(one, n)) ? [FIRST + n] : [])));
    expect(rows).toBeGreaterThan(0);
    // One pass over the terms of a row, and a binary search for each of the two other terms.
    expect(looks).toBeLessThan(rows * 60);
  });

  it('reads blocks where probing each row for each of many parts costs more', () => {
    const asked = any(Array.from({ length: 60 }, (_, n) => all([term(PLACES[n] as string), range('years_experience', 1, 2 + n)])));
    const found = emptyBitmap(FIRST + ROWS);
    for (let n = 0; n < ROWS; n++) setBit(found, FIRST + n);
    const termsOf = vi.fn((row: number) => reader.termsOf(row));
    const compiled = toEnd(compilePredicate(asked, reader));
    // With one probe a row, checking rows would cost less than reading blocks.
    expect(compiled.blockCost).toBeGreaterThan(ROWS);
    toEnd(intersect(found, [{ compiled, exclude: false }], ROWS, termsOf));
    expect([...rowsIn(found)]).toEqual(people.flatMap((_, n) => (meets(asked, n) ? [FIRST + n] : [])));
    expect(termsOf).not.toHaveBeenCalled();
  });

  it('looks up each term of a large union once, and the posting lists of a sample', () => {
    const posting = vi.spyOn(reader, 'list');
    const numberOf = vi.spyOn(reader, 'termId');
    toEnd(compilePredicate(any(Array.from({ length: 10 }, () => any(PLACES.map(term)))), reader));
    expect(posting.mock.calls.length).toBeLessThanOrEqual(32);
    expect(numberOf.mock.calls.length).toBeLessThanOrEqual(PLACES.length + 32);
    vi.restoreAllMocks();
  });
});

/** The same list; calls `look` on each read of an element. */
function counted(list: Uint32Array, look: () => void): Uint32Array {
  return new Proxy(list, {
    get(target, name): unknown {
      if (typeof name === 'string' && /^\d+$/.test(name)) look();
      return Reflect.get(target, name, target);
    },
  });
}
