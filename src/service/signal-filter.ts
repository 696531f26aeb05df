/** By which values signals are chosen, wherever they are asked for. Pure. */
import { normaliseDomain } from '../verification/domain.ts';
import { alike } from './fold.ts';

/** How a value of a filter is read, as it is compared; null: it is none. */
export interface FilterValue {
  readonly read: (value: string) => string | null;
  /** What it has to be, behind the filter's name. */
  readonly wanted: string;
}

export const SIGNAL_FILTERS = {
  domain: { read: normaliseDomain, wanted: 'is no domain name, such as acme.example' },
  country: { read: (value) => (/^[a-z]{2}$/i.test(value) ? value.toUpperCase() : null), wanted: 'is no country code of two letters, such as DE' },
  industry: { read: (value) => alike(value) || null, wanted: 'has no word in it' },
} as const satisfies Readonly<Record<string, FilterValue>>;
