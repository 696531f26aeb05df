/** Declares the fields of records and their objects. Import, store, answers, OpenAPI and GraphQL follow these tables. Pure. */
import type { FieldType } from './field-types.ts';

/** A field, beyond its type. */
export interface Field {
  readonly type: FieldType;
  /** Its published description. */
  readonly description?: string;
  readonly example?: unknown;
  /** The fields of an object, or of each object in a list. Other members are dropped. */
  readonly fields?: Members;
  /** For an object with open names, such as departments: the type of each value. */
  readonly each?: FieldType;
  /** For a list of objects that may come as texts: the field that a text fills, and the type it is parsed as. */
  readonly textAs?: { readonly field: string; readonly type: FieldType };
  /** An amount in US dollars: a text with another currency is no value of it. */
  readonly isUsd?: true;
  /** Paid data: enrich and reveal answer it, free answers do not. */
  readonly isPaid?: true;
  /** Computed for each answer; an import ignores it. */
  readonly isComputed?: true;
}

/** The fields of an object by name; a type alone declares a plain field. */
export type Members = Readonly<Record<string, FieldType | Field>>;

/** The fields of a record, in the order of answers. */
export type RecordFields = Readonly<Record<string, Field & { readonly description: string }>>;

export function fieldOf(member: FieldType | Field): Field {
  return typeof member === 'string' ? { type: member } : member;
}

/** The fields that an import accepts. */
export function importedFields<Name extends string>(record: Readonly<Record<Name, Field>>): Readonly<Record<Name, Field>> {
  return Object.fromEntries(Object.entries<Field>(record).filter(([, { isComputed }]) => isComputed !== true)) as Record<Name, Field>;
}

/** A place: of a person, a head office or an office. */
export const PLACE: Members = {
  name: 'string',
  city: 'string',
  region: 'string',
  country: 'string',
  country_code: 'string',
  postal_code: 'string',
  lat: 'number',
  lng: 'number',
};

/** Headcounts or open roles by department or country. */
export const COUNTS: Field = { type: 'object', each: 'number' };

/** An amount in US dollars. */
export const USD: Field = { type: 'number', isUsd: true };
