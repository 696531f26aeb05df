import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { emptyBits, numbersIn, setBit } from '../../../src/service/search/bitmap.ts';
import { criterionOf } from '../../../src/service/search/criteria.ts';
import { all, any, not, range, term, type Expression } from '../../../src/service/search/expression.ts';
import { narrow } from '../../../src/service/search/narrow.ts';
import { PostingReader } from '../../../src/service/search/posting-reader.ts';
import { loadPeople } from '../../../src/service/store/load.ts';
import { openStore } from '../../../src/service/store/open-store.ts';
import type { Store } from '../../../src/service/store/store.ts';
import { temporaryFolder } from '../harness.ts';

const SKILLS = ['a', 'b', 'c', 'd'];
/** On both sides of a border between blocks. */
const FIRST = 65_436;
const ROWS = 200;
const PLACES = Array.from({ length: 120 }, (_, n) => `place=1.00,${n}.00`);
const people = Array.from({ length: ROWS }, (_, n) => ({ id: `pe_${n}`, location: { lat: 1, lng: n % 150 }, email: `n${n}@acme.example`, skills: SKILLS.filter((_skill, bit) => ((n * 7) >>> bit) % 2 === 1), ...(n % 5 === 0 ? {} : { years_experience: (n * 13) % 90 }) }));

const expression: fc.Arbitrary<Expression> = fc.letrec<{ one: Expression }>((tie) => ({
  one: fc.oneof(
    { maxDepth: 3 },
    fc.constantFrom(...SKILLS, 'nobody has it').map((skill) => term(`skills=${skill}`)),
    fc.tuple(fc.option(fc.integer({ min: -3, max: 130 })), fc.option(fc.integer({ min: -3, max: 130 }))).map(([min, max]) => range('years_experience', min, max)),
    fc.array(fc.nat(ROWS), { maxLength: 5 }).map((rows): Expression => ({ kind: 'rows', rows: rows.map((row) => FIRST + row) })),
    { arbitrary: fc.tuple(fc.subarray(PLACES, { minLength: 60 }), fc.array(tie('one'), { maxLength: 2 })).map(([places, others]) => any([any(places.map(term)), ...others, any(places.slice(0, 30).map(term))])), weight: 2 },
    fc.array(tie('one'), { minLength: 1, maxLength: 3 }).map(all),
    fc.array(tie('one'), { maxLength: 3 }).map(any),
    tie('one').map(not),
  ),
})).one;

function meets(asked: Expression, n: number): boolean {
  const person = people[n] as (typeof people)[number];
  switch (asked.kind) {
    case 'term':
      return [...person.skills.map((skill) => `skills=${skill}`), `place=1.00,${person.location.lng}.00`].includes(asked.term);
    case 'range':
      return person.years_experience !== undefined && person.years_experience >= (asked.min ?? -Infinity) && person.years_experience <= (asked.max ?? Infinity);
    case 'rows':
      return asked.rows.includes(FIRST + n);
    case 'all':
      return asked.of.every((part) => meets(part, n));
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
  // Rows are numbered on from the last one.
  store.prepare("INSERT INTO people (seq, id, name_key, headcount, rank, doc, source, observed_at) VALUES (?, 'gap', '', -1, 0, '{}', 1, 0)").run(FIRST - 1);
  loadPeople(store, people, 'test');
  reader = new PostingReader(store, 'person');
});
afterAll(() => store.close());

describe('narrowing a set', () => {
  it('leaves whoever meets what is asked, whether blocks are read or the terms of rows', () => {
    const demand = fc.record({ expression, exclude: fc.boolean() });
    let byRow = 0;
    fc.assert(
      fc.property(fc.array(demand, { minLength: 1, maxLength: 4 }), fc.uniqueArray(fc.nat(ROWS - 1), { maxLength: 3 }), (asked, few) => {
        for (const among of [people.map((_, n) => n), few]) {
          const found = emptyBits(FIRST + ROWS);
          for (const n of among) setBit(found, FIRST + n);
          narrow(found, asked.map(({ expression: one, exclude }) => ({ criterion: criterionOf(one, reader), exclude })), ROWS, (row) => {
            byRow++;
            return reader.termsOf(row);
          });
          const expected = among.filter((n) => asked.every(({ expression: one, exclude }) => meets(one, n) !== exclude)).map((n) => FIRST + n);
          expect([...numbersIn(found)]).toEqual(expected.sort((one, other) => one - other));
        }
      }),
      { numRuns: 300 },
    );
    expect(byRow).toBeGreaterThan(100);
  });

  it('looks no more often into rows of which any of many terms is asked than their terms take to read', () => {
    const asked = [any(PLACES.map(term)), term('skills=a'), term('skills=b')];
    let [looks, rows] = [0, 0];
    const found = emptyBits(FIRST + ROWS);
    for (let n = 0; n < ROWS; n++) setBit(found, FIRST + n);
    narrow(found, asked.map((one) => ({ criterion: criterionOf(one, reader), exclude: false })), ROWS, (row) => {
      rows++;
      return counted(reader.termsOf(row), () => looks++);
    });
    expect([...numbersIn(found)]).toEqual(people.flatMap((_, n) => (asked.every((one) => meets(one, n)) ? [FIRST + n] : [])));
    expect(rows).toBeGreaterThan(0);
    // Once through the terms of a row, and a binary search for each of the two others.
    expect(looks).toBeLessThan(rows * 60);
  });

  it('goes by blocks where looking into each row for each of many parts takes longer', () => {
    const asked = any(Array.from({ length: 60 }, (_, n) => all([term(PLACES[n] as string), range('years_experience', 1, 2 + n)])));
    const found = emptyBits(FIRST + ROWS);
    for (let n = 0; n < ROWS; n++) setBit(found, FIRST + n);
    const termsOf = vi.fn((row: number) => reader.termsOf(row));
    const criterion = criterionOf(asked, reader);
    // As if looking into a row were one look, rows would be fewer than blocks.
    expect(criterion.cost).toBeGreaterThan(ROWS);
    narrow(found, [{ criterion, exclude: false }], ROWS, termsOf);
    expect([...numbersIn(found)]).toEqual(people.flatMap((_, n) => (meets(asked, n) ? [FIRST + n] : [])));
    expect(termsOf).not.toHaveBeenCalled();
  });

  it('keeps the sets of few of many terms, and looks each term up once, however often it is asked for', () => {
    const posting = vi.spyOn(reader, 'posting');
    const numberOf = vi.spyOn(reader, 'numberOf');
    criterionOf(any(Array.from({ length: 10 }, () => any(PLACES.map(term)))), reader);
    expect(posting.mock.calls.length).toBeLessThanOrEqual(32);
    expect(numberOf.mock.calls.length).toBeLessThanOrEqual(PLACES.length + 32);
    vi.restoreAllMocks();
  });
});

/** The same list; says whenever one of its numbers is read. */
function counted(list: Uint32Array, look: () => void): Uint32Array {
  return new Proxy(list, {
    get(target, name): unknown {
      if (typeof name === 'string' && /^\d+$/.test(name)) look();
      return Reflect.get(target, name, target);
    },
  });
}
