/** Paths and queries of calls. */
import { expect, it } from 'vitest';
import { pathOf, queryOf } from '../../../src/client/library/paths.ts';

it('a query repeats the parameter for each item of a list, and leaves out null and undefined', () => {
  const params = { title: 'a&b=c d', country: ['FR', 'DE'], has_email: true, limit: 5, cursor: undefined, sort: null };
  expect(queryOf(params)).toBe('?title=a%26b%3Dc%20d&country=FR&country=DE&has_email=true&limit=5');
  expect(queryOf({ cursor: undefined })).toBe('');
});

it('a path has its values encoded, so that none adds a part to it', () => {
  expect(pathOf`/v1/batches/${'../x?y#z'}/parts/${3}`).toBe('/v1/batches/..%2Fx%3Fy%23z/parts/3');
});
