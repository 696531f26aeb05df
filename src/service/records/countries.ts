/** Countries in imports and filters. */
import { findCountry } from '../../verification/countries.ts';
import { memoize } from './normalise.ts';

/** `findCountry`, for the many rows of a file. */
export const countryCode: (text: string) => string | null = memoize(findCountry);

/** The rest of a message about a bad country in a filter. */
export const COUNTRY_WANTED = 'is no country code of two letters (ISO 3166-1), such as DE';

/** The current code for a filter's value: `uk` becomes `GB`; null if no country has it. */
export function filterCountry(value: string): string | null {
  return /^[a-z]{2}$/i.test(value) ? countryCode(value) : null;
}
