/** The price of searches: requests of the quota by their work, and never credits. */
import type { Charge } from '../accounts/charging.ts';
import { UNITS_A_REQUEST } from './search-operations.ts';

/** The header that says how much work the searches of a request took. */
export const UNITS_HEADER = 'x-search-units';

/**
 * Takes requests of the quota for searches whose work is more than that of the one request that each of them is. The work is done, so the
 * quota may sink below zero.
 * @param searches their number @param units the work of all of them together
 * @returns the header that says so
 */
export function bookSearches(charge: Charge, searches: number, units: number): Readonly<Record<string, string>> {
  const more = Math.ceil(units / UNITS_A_REQUEST) - searches;
  if (more > 0) charge.oweRequests(more);
  return { [UNITS_HEADER]: String(units) };
}
