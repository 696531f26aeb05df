/** How the fields of records, and of the objects within them, are declared: import, store, answers, OpenAPI and GraphQL follow these tables. Pure. */
import type { FieldType } from '../field-types.ts';

/** A field; what its type does not say. */
export interface Field {
  readonly type: FieldType;
  /** Its published description. */
  readonly says?: string;
  readonly example?: unknown;
  /** The fields of an object, or of each object in a list. An object keeps no other field. */
  readonly fields?: Members;
  /** Of an object with open names, such as departments: the type of each value. */
  readonly each?: FieldType;
  /** Of a list of objects that may come as texts: the field that a text fills, and the type as which it is read. */
  readonly textAs?: { readonly field: string; readonly type: FieldType };
  /** Enrich and reveal are paid for it: no free answer has it. */
  readonly isPaid?: true;
  /** Each answer makes it: an import does not bring it. */
  readonly isComputed?: true;
}

/** The fields of an object by name; a type alone is a field without more to say. */
export type Members = Readonly<Record<string, FieldType | Field>>;

/** The fields of a record, in the order in which an answer has them. */
export type RecordFields = Readonly<Record<string, Field & { readonly says: string }>>;

export function fieldOf(member: FieldType | Field): Field {
  return typeof member === 'string' ? { type: member } : member;
}

/** The fields that an import brings. */
export function importedFields<Name extends string>(record: Readonly<Record<Name, Field>>): Readonly<Record<Name, Field>> {
  return Object.fromEntries(Object.entries<Field>(record).filter(([, { isComputed }]) => isComputed !== true)) as Record<Name, Field>;
}

/** A place: where a person is, a head office, an office. */
export const PLACE: Members = {
  name: 'string', city: 'string', region: 'string', country: 'string', country_code: 'string', postal_code: 'string', lat: 'number', lng: 'number',
};

/** Headcounts or open roles, by a department or a country. */
export const COUNTS: Field = { type: 'object', each: 'number' };
