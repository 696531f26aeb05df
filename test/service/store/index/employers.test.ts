import * as fc from '../../../support/fast-check.ts';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { emptyBitmap, rowsIn, setBit } from '../../../../src/service/store/index/bitmap.ts';
import { DomainIds } from '../../../../src/service/store/index/domain-ids.ts';
import { EmployerReader } from '../../../../src/service/store/index/employers.ts';
import { CHUNK } from '../../../../src/service/store/index/packed-chunk.ts';
import { loadPeople } from '../../../../src/service/store/rows/load.ts';
import type { Store } from '../../../../src/service/store/store.ts';
import { emptyStore } from '../../loading.ts';
import { toEnd } from '../../../support/steps.ts';

/** A few people in each chunk; company 0 means no employer. */
const [CHUNKS, A_CHUNK, COMPANIES] = [16, 6, 9];
const people = Array.from({ length: CHUNKS * A_CHUNK }, (_, n) => ({
  row: Math.floor(n / A_CHUNK) * CHUNK + 1 + (n % A_CHUNK),
  company: (n * 7) % (COMPANIES + 1),
}));

/** One company has too many people for lookups. They are in the first chunk after the few. */
const CROWD = Array.from({ length: 2_500 }, (_, n) => ({ row: 1 + A_CHUNK + n, company: COMPANIES }));

let store: Store;

beforeAll(async () => {
  store = await emptyStore();
  for (let company = 1; company <= COMPANIES; company++) new DomainIds(store).getOrAdd(`c${company}.example`);
  for (let chunk = 0; chunk < CHUNKS; chunk++) {
    const some = [...people.slice(chunk * A_CHUNK, (chunk + 1) * A_CHUNK), ...(chunk === 0 ? CROWD : [])];
    // SQLite assigns the row after the greatest one.
    if (chunk > 0)
      store
        .prepare("INSERT INTO people (seq, id, name_key, rank, doc, source, observed_at) VALUES (?, 'gap', '', 0, '{}', 1, 0)")
        .run((some[0]?.row ?? 0) - 1);
    loadPeople(
      store,
      some.map(({ row, company }) => ({ id: `pe_${row}`, ...(company === 0 ? {} : { company_domain: `c${company}.example` }) })),
      'test',
    );
    store.exec("DELETE FROM people WHERE id = 'gap'");
  }
});
afterAll(() => store.close());

class CountingReader extends EmployerReader {
  lookUps = 0;
  refusals = 0;

  override *peopleAt(company: number, most: number): ReturnType<EmployerReader['peopleAt']> {
    const rows = yield* super.peopleAt(company, most);
    this.lookUps++;
    if (rows === null) this.refusals++;
    return rows;
  }
}

it('filters people by employer, whether it looks up the people of few companies or scans all', () => {
  const step = fc.record({ companies: fc.uniqueArray(fc.nat(COMPANIES)), people: fc.option(fc.subarray(people)), exclude: fc.boolean() });
  const lookThrough = vi.spyOn(EmployerReader.prototype, 'chunk');
  const setOf = (size: number, numbers: readonly number[]): ReturnType<typeof emptyBitmap> => {
    const bits = emptyBitmap(size);
    for (const number of numbers) setBit(bits, number);
    return bits;
  };
  const reader = new CountingReader(store);
  fc.assert(
    fc.property(fc.subarray(people), fc.boolean(), fc.array(step, { minLength: 1, maxLength: 3 }), (few, areMany, steps) => {
      const asked = areMany ? [...few, ...CROWD].sort((one, other) => one.row - other.row) : few;
      const found = setOf(
        CHUNKS * CHUNK,
        asked.map(({ row }) => row),
      );
      toEnd(
        reader.filter(
          found,
          steps.map((one) => ({
            companies: setOf(COMPANIES + 1, one.companies),
            people:
              one.people === null
                ? null
                : setOf(
                    CHUNKS * CHUNK,
                    one.people.map(({ row }) => row),
                  ),
            exclude: one.exclude,
          })),
        ),
      );
      const left = asked.filter((person) =>
        steps.every((one) => (one.companies.includes(person.company) || one.people?.includes(person) === true) !== one.exclude),
      );
      expect([...rowsIn(found)]).toEqual(left.map(({ row }) => row));
    }),
    { numRuns: 200 },
  );
  expect([reader.lookUps, lookThrough.mock.calls.length, reader.refusals].map((calls) => calls > 0)).toEqual([true, true, true]);
  vi.restoreAllMocks();
});
