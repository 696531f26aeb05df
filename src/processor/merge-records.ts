/** Merges the records that several providers have of one person or company. Pure. */
import { COMPANY_FIELDS } from '../client/answer-fields.ts';
import { hasValue } from '../util/has-value.ts';
import { isObject } from '../util/is-object.ts';

type AnyRecord = Readonly<Record<string, unknown>>;

/** Which provider each field is from, by dotted path: `{title: pdl, "company.name": hunter}`. */
export type FieldSources = Readonly<Record<string, string>>;

export interface SourcedRecord {
  readonly record: AnyRecord;
  readonly sources: FieldSources;
}

/** Fields that belong to the address: they come from the provider whose address the record has. */
const OF_EMAIL = /^(?:verified|email_\w+)$/;

/** The latest sources of `ofOne`, by provider. */
const latest = new Map<string, FieldSources>();

/**
 * A record with each of its fields from one provider. Fields without a value are left out of the sources. The records of a provider mostly
 * have the same fields, and then the same sources: a reader may keep what it has made of them.
 */
export function ofOne(record: AnyRecord, provider: string): SourcedRecord {
  const paths = pathsOf(record);
  const before = latest.get(provider);
  if (before !== undefined && isEqual(Object.keys(before), paths)) return { record, sources: before };
  const sources = Object.fromEntries(paths.map((path) => [path, provider]));
  latest.set(provider, sources);
  return { record, sources };
}

/** The paths of the fields with a value. */
function pathsOf(record: AnyRecord): readonly string[] {
  const paths: string[] = [];
  for (const field of Object.keys(record)) {
    const value = record[field];
    if (field === 'company' && isObject(value)) {
      for (const inner of Object.keys(value)) if (hasValue(value[inner])) paths.push(companyPath(inner));
    } else if (hasValue(value)) paths.push(field);
  }
  return paths;
}

function isEqual(some: readonly string[], others: readonly string[]): boolean {
  return some.length === others.length && some.every((one, index) => one === others[index]);
}

/** Fills the empty fields of a record from the record of another provider. The company is filled field by field. */
export function fill(before: SourcedRecord, record: AnyRecord, provider: string): SourcedRecord {
  const takesEmail = !hasValue(before.record['email']);
  const keeps = takesEmail && hasValue(record['email']) ? withoutEmail : copyOf;
  const merged: Record<string, unknown> = keeps(before.record);
  const sources: Record<string, string> = keeps(before.sources);
  for (const [field, value] of Object.entries(record)) {
    if (OF_EMAIL.test(field) && !takesEmail) continue;
    if (field === 'company' && isObject(value)) {
      merged[field] = fillCompany(merged[field], value, provider, sources);
    } else if (!hasValue(merged[field])) {
      if (!hasValue(value) && Object.hasOwn(merged, field)) continue;
      merged[field] = value;
      if (hasValue(value)) sources[field] = provider;
    }
  }
  return { record: merged, sources };
}

const copyOf = <V>(fields: Readonly<Record<string, V>>): Record<string, V> => ({ ...fields });

/** Without what was said of another address. */
function withoutEmail<V>(fields: Readonly<Record<string, V>>): Record<string, V> {
  return Object.fromEntries(Object.entries(fields).filter(([field]) => !OF_EMAIL.test(field)));
}

function fillCompany(before: unknown, company: AnyRecord, provider: string, sources: Record<string, string>): AnyRecord {
  const merged: Record<string, unknown> = isObject(before) ? { ...before } : {};
  for (const [field, value] of Object.entries(company)) {
    if (hasValue(merged[field]) || (!hasValue(value) && Object.hasOwn(merged, field))) continue;
    merged[field] = value;
    if (hasValue(value)) sources[companyPath(field)] = provider;
  }
  return merged;
}

const COMPANY_PATHS = new Map([...COMPANY_FIELDS.keys()].map((field) => [field, `company.${field}`]));

/** The dotted path of a company's field. Each record has the same few, and a text made anew costs more than the rest of a merge. */
function companyPath(field: string): string {
  return COMPANY_PATHS.get(field) ?? `company.${field}`;
}

/** Whether a record has a value in each of these fields. @param paths dotted, such as `company.name` */
export function hasAll(record: AnyRecord, paths: readonly string[]): boolean {
  return paths.every((path) => {
    let value: unknown = record;
    for (const part of path.split('.')) value = isObject(value) && Object.hasOwn(value, part) ? value[part] : undefined;
    return hasValue(value);
  });
}
