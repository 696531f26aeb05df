/** Filters of signals, for pages, streams and webhooks. Pure. */
import { normaliseDomain } from '../../verification/domain.ts';
import { COUNTRY_WANTED, filterCountry } from '../records/countries.ts';
import { alike } from '../records/normalise.ts';

/** Reads a value of a filter and normalises it; null for a wrong value. */
export interface FilterValue {
  readonly read: (value: string) => string | null;
  /** The rest of a finding, behind the filter's name. */
  readonly wanted: string;
}

export const SIGNAL_FILTERS = {
  domain: { read: normaliseDomain, wanted: 'is no domain name, such as acme.example' },
  country: { read: filterCountry, wanted: COUNTRY_WANTED },
  industry: { read: (value) => alike(value) || null, wanted: 'has no word in it' },
} as const satisfies Readonly<Record<string, FilterValue>>;
