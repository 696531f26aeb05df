/**
 * The filter of a webhook: its fields, and how events match it. An event must match one value of each field. The three fields that name
 * people count as one field. Pure.
 */
import { normaliseEmail } from '../../verification/address.ts';
import { profileKey } from '../../verification/profile-url.ts';
import type { SparseRecord } from '../records/whole-record.ts';
import { SIGNAL_FILTERS, type FilterValue } from '../signals/signal-filter.ts';
import type { SignalType } from '../records/signal-types.ts';
import { addressesOf } from '../store/identity/other-addresses.ts';
import type { SignalFilter } from '../store/rows/signal-feed.ts';
import { isObject } from '../../util/is-object.ts';
import { textOrNull } from '../http/values.ts';
import { SIGNAL_EVENTS, type EventType } from './announcement.ts';
import { JOB_CHANGE } from '../store/rows/job-change-rows.ts';

/** The fields that name people. */
const NAMING = {
  email: { read: normaliseEmail, wanted: 'is no e-mail address' },
  linkedin_url: { read: profileKey, wanted: 'is no address of a profile' },
  id: { read: (value) => value || null, wanted: 'is empty' },
} as const satisfies Readonly<Record<string, FilterValue>>;

export const FILTER_VALUES = { ...SIGNAL_FILTERS, ...NAMING } as const satisfies Readonly<Record<string, FilterValue>>;
export type FilterName = keyof typeof FILTER_VALUES;

/** A filter as the request gave it. An empty list is the rest after an erasure, and matches nobody; a request cannot give one. */
export type WebhookFilter = { readonly [name in FilterName]?: readonly string[] };

const OF_SIGNALS: readonly FilterName[] = ['domain', 'country', 'industry'];
const OF_CHANGES: readonly FilterName[] = ['domain', 'country', 'email', 'linkedin_url', 'id'];
export const NAMING_FIELDS = Object.keys(NAMING) as (keyof typeof NAMING)[];

/** The filter fields that an event type supports. */
export function filtersOf(type: EventType): readonly FilterName[] {
  return type === JOB_CHANGE ? OF_CHANGES : type in SIGNAL_EVENTS ? OF_SIGNALS : [];
}

/** The signal types among the events. */
export function signalTypesOf(events: readonly EventType[]): SignalType[] {
  return Object.entries(SIGNAL_EVENTS).flatMap(([event, type]) => (events.includes(event as EventType) ? [type] : []));
}

export function signalFilter(events: readonly EventType[], filter: WebhookFilter): SignalFilter {
  return {
    types: signalTypesOf(events),
    since: null,
    before: null,
    domains: valuesOf(filter, 'domain'),
    countries: valuesOf(filter, 'country'),
    industries: valuesOf(filter, 'industry'),
  };
}

/** The facts of a job change that a filter tests. */
export interface ChangeFacts {
  /** The company domains of both employers. */
  readonly domains: readonly string[];
  /** The person's current record. */
  readonly person: SparseRecord;
}

/** A test whether a job change matches the filter. @param ownerOf returns the main domain of the company with a given alias domain */
export function changeTest(filter: WebhookFilter, ownerOf: (domain: string) => string): (facts: ChangeFacts) => boolean {
  const [domains, countries] = [new Set(valuesOf(filter, 'domain').map(ownerOf)), new Set(valuesOf(filter, 'country'))];
  const people = NAMING_FIELDS.filter((name) => filter[name] !== undefined).map((name) => ({
    name,
    values: new Set(valuesOf(filter, name)),
  }));
  return (facts) =>
    (domains.size === 0 || facts.domains.some((domain) => domains.has(domain))) &&
    (countries.size === 0 || countries.has(countryOf(facts.person) ?? '')) &&
    (people.length === 0 || people.some(({ name, values }) => keysOf(facts.person, name).some((key) => values.has(key))));
}

function valuesOf(filter: WebhookFilter, name: FilterName): string[] {
  return (filter[name] ?? []).flatMap((value) => FILTER_VALUES[name].read(value) ?? []);
}

function countryOf({ location }: SparseRecord): string | null {
  return isObject(location) ? textOrNull(location['country_code']) : null;
}

function keysOf(person: SparseRecord, name: keyof typeof NAMING): readonly string[] {
  if (name === 'email') return addressesOf(person);
  const value = textOrNull(person[name]);
  return [value === null ? null : NAMING[name].read(value)].filter((key) => key !== null);
}
