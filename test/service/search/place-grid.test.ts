import * as fc from '../../support/fast-check.ts';
import { casesOf } from '../../support/sample.ts';
import { expect, it } from 'vitest';
import type { Circle } from '../../../src/service/records/filter-value.ts';
import { isWithin } from '../../../src/service/search/great-circle.ts';
import { PlaceGrid } from '../../../src/service/search/place-grid.ts';
import type { PostingReader } from '../../../src/service/search/posting-reader.ts';
import { toEnd } from '../../support/steps.ts';

const hundredths = (most: number): fc.Arbitrary<number> => fc.integer({ min: -100 * most, max: 100 * most }).map((value) => value / 100);
/** Half of the places and circles are near a pole or the date line. */
const latitude = fc.oneof(hundredths(90), fc.constantFrom(-90, -89.99, -89, 0, 89, 89.99, 90));
const longitude = fc.oneof(hundredths(180), fc.constantFrom(-180, -179.99, -179, 0, 179, 179.99, 180));
/** Some records have numbers that no map has. */
const place = fc.oneof({ weight: 9, arbitrary: fc.tuple(latitude, longitude) }, fc.tuple(hundredths(400), hundredths(400)));
const circle: fc.Arbitrary<Circle> = fc.record({
  lat: latitude,
  lng: longitude,
  km: fc.oneof(fc.double({ min: 0, max: 300, noNaN: true }), fc.double({ min: 0, max: 20_100, noNaN: true }), fc.constantFrom(0, 20_100)),
});

function gridOf(places: readonly (readonly [lat: number, lng: number])[]): PlaceGrid {
  const terms = [...new Set(places.map((one) => `place=${one.map((value) => value.toFixed(2)).join()}`))].sort();
  const ids = new Map(terms.map((term, id) => [term, id]));
  return new PlaceGrid({
    termsAfter: (_prefix: string, after: string | null, count: number) =>
      terms
        .filter((term) => after === null || term > after)
        .slice(0, count)
        .map((term) => [term, ids.get(term) as number]),
  } as unknown as PostingReader);
}

it('the grid of places finds what a comparison with every place finds', () => {
  let found = 0;
  fc.assert(
    fc.property(fc.array(place, { maxLength: 60 }), fc.array(circle, { minLength: 1, maxLength: 4 }), (places, circles) => {
      const terms = [...new Set(places.map((one) => one.map((value) => value.toFixed(2)).join()))].sort((one, other) =>
        `place=${one}` < `place=${other}` ? -1 : 1,
      );
      const expected = terms.flatMap((term, id) => {
        const [lat = 0, lng = 0] = term.split(',').map(Number);
        return circles.some((one) => isWithin(lat, lng, one)) ? [id] : [];
      });
      found += expected.length;
      expect(toEnd(gridOf(places).within(circles)).sort((one, other) => one - other)).toEqual(expected);
    }),
    { numRuns: 1_000 },
  );
  expect(found).toBeGreaterThan(casesOf(300, 1_000));
});

it('the grid reads many places in steps, and compares a circle with those around it', () => {
  const grid = gridOf(Array.from({ length: 6_000 }, (_, n) => [(n % 100) - 50, Math.floor(n / 100) * 2] as const));
  let steps = 0;
  toEnd(grid.within([]), () => steps++);
  expect(steps).toBeGreaterThanOrEqual(12);
  let units = 0;
  const search = grid.within([{ lat: 0.5, lng: 50, km: 100 }]);
  for (let step = search.next(); step.done !== true; step = search.next()) units += Number(step.value);
  expect(units).toBeLessThan(10);
});
