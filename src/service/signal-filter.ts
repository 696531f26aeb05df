/** By which values signals are chosen, wherever they are asked for. Pure. */
import { normaliseDomain } from '../verification/domain.ts';
import { COUNTRY_WANTED, filterCountry } from './countries.ts';
import { alike } from './fold.ts';

/** How a value of a filter is read, as it is compared; null: it is none. */
export interface FilterValue {
  readonly read: (value: string) => string | null;
  /** What it has to be, behind the filter's name. */
  readonly wanted: string;
}

export const SIGNAL_FILTERS = {
  domain: { read: normaliseDomain, wanted: 'is no domain name, such as acme.example' },
  country: { read: filterCountry, wanted: COUNTRY_WANTED },
  industry: { read: (value) => alike(value) || null, wanted: 'has no word in it' },
} as const satisfies Readonly<Record<string, FilterValue>>;
