/** The keys by which a step looks a record up: one row each. Pure. */
import type { KeyColumn, PersonColumn } from '../formats/input-record.ts';

interface KeySpec {
  /** As a job writes it, in `enrich.by`. */
  readonly inJobs: string;
  /** As a definition of a provider writes it. */
  readonly inDefinitions: string;
  /** The text of its scope in the ledger, which must not change: the answers that ledgers hold would be lost. */
  readonly scope: string;
  /** Its parts: one out of each list. */
  readonly parts: readonly (readonly (KeyColumn | PersonColumn)[])[];
}

const NAME = ['name', 'first_name', 'last_name'] as const;

/** `name` is a name with a domain, `company` a name with the name of a company. */
export const KEYS = {
  email: { inJobs: 'email', inDefinitions: 'email', scope: 'by email', parts: [['email']] },
  linkedin_url: { inJobs: 'linkedin_url', inDefinitions: 'linkedin_url', scope: 'by linkedin_url', parts: [['linkedin_url']] },
  phone: { inJobs: 'phone', inDefinitions: 'phone', scope: 'by phone', parts: [['phone']] },
  name: { inJobs: 'name', inDefinitions: 'name+domain', scope: 'by name and domain', parts: [NAME, ['domain']] },
  company: { inJobs: 'name', inDefinitions: 'name+company', scope: 'by name and company', parts: [NAME, ['company']] },
  domain: { inJobs: 'domain', inDefinitions: 'domain', scope: 'by domain', parts: [['domain']] },
} as const satisfies Readonly<Record<string, KeySpec>>;

export type KeyKind = keyof typeof KEYS;
/** A key as a job writes it. */
export type KeyName = (typeof KEYS)[KeyKind]['inJobs'];
/** A key as a definition of a provider writes it. */
export type ProviderKey = (typeof KEYS)[KeyKind]['inDefinitions'];
/** A value that belongs to a key. */
export type KeyPart = (typeof KEYS)[KeyKind]['parts'][number][number];

/** All keys. */
export const KINDS: readonly KeyKind[] = Object.keys(KEYS) as KeyKind[];

export const PROVIDER_KEYS: readonly ProviderKey[] = KINDS.map((kind) => KEYS[kind].inDefinitions);

/** A key that an earlier step of the job finds. A job writes it as `enrich.company.domain`. */
export interface FoundKey {
  readonly kind: KeyKind;
  readonly step: string;
  /** Dotted path in the record of that step. */
  readonly field: string;
}

/** Where the key of a lookup comes from: a kind is a key of the record itself. */
export type KeySource = KeyKind | FoundKey;

/** The fields that hold a key, by their names: the last part of a path. */
const FIELDS: ReadonlyMap<string, KeyKind> = new Map([
  ['email', 'email'],
  ['linkedin_url', 'linkedin_url'],
  ['phone', 'phone'],
  ['mobile', 'phone'],
  ['domain', 'domain'],
]);

export const FOUND_FIELDS: readonly string[] = [...FIELDS.keys()];
export const FOUND_NAME = /^[a-z][a-z0-9_]{0,39}(?:\.[A-Za-z0-9_]{1,64}){1,4}$/;

/** The found key that a job writes so; null for any other name. */
export function foundKey(name: string): FoundKey | null {
  const [step = '', ...path] = name.split('.');
  const kind = FIELDS.get(path.at(-1) ?? '');
  return kind === undefined ? null : { kind, step, field: path.join('.') };
}

export function kindOfSource(source: KeySource): KeyKind {
  return typeof source === 'string' ? source : source.kind;
}

/** The names of keys in a job, each once. */
export function namesOf(kinds: readonly KeyKind[]): readonly KeyName[] {
  return [...new Set(kinds.map((kind) => KEYS[kind].inJobs))];
}

/** The same with the keys that earlier steps find. */
export function namesOfSources(sources: readonly KeySource[]): readonly string[] {
  return [...new Set(sources.map((source) => (typeof source === 'string' ? KEYS[source].inJobs : `${source.step}.${source.field}`)))];
}

/** The keys out of `kinds` that a job means by these names, in the order of the names. */
export function kindsNamed(names: readonly string[], kinds: readonly KeyKind[]): readonly KeyKind[] {
  return names.flatMap((name) => kinds.filter((kind) => KEYS[kind].inJobs === name));
}

/** The same with the keys that earlier steps find. */
export function sourcesNamed(names: readonly string[], kinds: readonly KeyKind[]): readonly KeySource[] {
  return names.flatMap((name): readonly KeySource[] => {
    const found = foundKey(name);
    if (found !== null) return kinds.includes(found.kind) ? [found] : [];
    return kindsNamed([name], kinds);
  });
}

/** The key that a definition writes so. */
export function kindOf(key: ProviderKey): KeyKind {
  return KINDS.find((kind) => KEYS[kind].inDefinitions === key) as KeyKind;
}

/** The parts of a key that a definition writes so. */
export function partsOf(key: ProviderKey): readonly (readonly KeyPart[])[] {
  return KEYS[kindOf(key)].parts;
}
