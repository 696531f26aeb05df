/** Which of what happens a webhook is told: its filter, read and applied. Values of one field are alternatives; all fields must be met, but that a person is one of those named by any of the three that name people. Pure. */
import { normaliseEmail } from '../../verification/address.ts';
import { profileKey } from '../../verification/profile-url.ts';
import type { SparseRecord } from '../records.ts';
import { SIGNAL_FILTERS, type FilterValue } from '../signal-filter.ts';
import type { SignalType } from '../signal-types.ts';
import { addressesOf } from '../store/other-addresses.ts';
import type { SignalFilter } from '../store/signal-feed.ts';
import { isObject, textOrNull } from '../values.ts';
import { JOB_CHANGE, SIGNAL_EVENTS, type EventType } from './announcement.ts';

/** By whom a person is tracked. */
const NAMING = {
  email: { read: normaliseEmail, wanted: 'is no e-mail address' },
  linkedin_url: { read: profileKey, wanted: 'is no address of a profile' },
  id: { read: (value) => value || null, wanted: 'is empty' },
} as const satisfies Readonly<Record<string, FilterValue>>;

export const FILTER_VALUES = { ...SIGNAL_FILTERS, ...NAMING } as const satisfies Readonly<Record<string, FilterValue>>;
export type FilterName = keyof typeof FILTER_VALUES;

/** As it was given. An empty list, which nobody can give, is what an erasure has left: nobody is meant by it. */
export type WebhookFilter = { readonly [name in FilterName]?: readonly string[] };

const OF_SIGNALS: readonly FilterName[] = ['domain', 'country', 'industry'];
const OF_CHANGES: readonly FilterName[] = ['domain', 'country', 'email', 'linkedin_url', 'id'];
export const NAMING_FIELDS = Object.keys(NAMING) as (keyof typeof NAMING)[];

/** The fields that events of a type can be chosen by. */
export function filtersOf(type: EventType): readonly FilterName[] {
  return type === JOB_CHANGE ? OF_CHANGES : type in SIGNAL_EVENTS ? OF_SIGNALS : [];
}

/** Kinds of signals that are subscribed to. */
export function signalTypesOf(events: readonly EventType[]): SignalType[] {
  return Object.entries(SIGNAL_EVENTS).flatMap(([event, type]) => (events.includes(event as EventType) ? [type] : []));
}

export function signalFilter(events: readonly EventType[], filter: WebhookFilter): SignalFilter {
  return { types: signalTypesOf(events), since: null, before: null, domains: valuesOf(filter, 'domain'), countries: valuesOf(filter, 'country'), industries: valuesOf(filter, 'industry') };
}

/** What a change of a job is chosen by. */
export interface ChangeFacts {
  /** Of both employers, as the domains of their companies. */
  readonly domains: readonly string[];
  /** As the person is known now. */
  readonly person: SparseRecord;
}

/** Whether a change is one that a webhook is told. @param ownerOf the domain of the company to which another one belongs */
export function changeTest(filter: WebhookFilter, ownerOf: (domain: string) => string): (facts: ChangeFacts) => boolean {
  const [domains, countries] = [new Set(valuesOf(filter, 'domain').map(ownerOf)), new Set(valuesOf(filter, 'country'))];
  const named = NAMING_FIELDS.filter((name) => filter[name] !== undefined).map((name) => ({ name, values: new Set(valuesOf(filter, name)) }));
  return (facts) =>
    (domains.size === 0 || facts.domains.some((domain) => domains.has(domain))) &&
    (countries.size === 0 || countries.has(countryOf(facts.person) ?? '')) &&
    (named.length === 0 || named.some(({ name, values }) => keysOf(facts.person, name).some((key) => values.has(key))));
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
