/** Derives published schemas from the tables of records. Pure. */
import type { FieldType } from '../field-types.ts';
import { nullable, type Schema } from '../../http/body-schema.ts';
import { fieldOf, type Field, type Members } from '../field.ts';

const TYPES: Readonly<Record<FieldType, Schema>> = {
  string: { type: 'string' },
  word: { type: 'string' },
  integer: { type: 'integer', minimum: 0 },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  partial_date: { type: 'string' },
  time: { type: 'string', format: 'date-time' },
  email: { type: 'string' },
  address: { type: 'string' },
  domain: { type: 'string' },
  phone: { type: 'string' },
  telephone: { type: 'string' },
  strings: { type: 'array', items: { type: 'string' } },
  addresses: { type: 'array', items: { type: 'string' } },
  objects: { type: 'array' },
  object: { type: 'object' },
  text_or_object: { type: ['string', 'object'] },
};

/** The schema of a field, nullable. */
function fieldSchema(field: FieldType | Field): Schema {
  const { type, fields, description, example } = fieldOf(field);
  const value =
    type === 'text_or_object' ? { anyOf: [STRING, objectSchema(fields ?? {}), { type: 'null' }] } : nullable(valueSchema(fieldOf(field)));
  return { ...value, ...(description === undefined ? {} : { description }), ...(example === undefined ? {} : { examples: [example] }) };
}

function valueSchema({ type, fields, each }: Field): Schema {
  if (each !== undefined) return { type: 'object', additionalProperties: nullable(TYPES[each]) };
  if (fields === undefined) return TYPES[type];
  return type === 'objects' ? { type: 'array', items: objectSchema(fields) } : objectSchema(fields);
}

/** An object with all of these fields, each nullable. */
export function objectSchema(fields: Members): Schema {
  return whole(fieldSchemas(fields));
}

export function fieldSchemas<Name extends string>(fields: Readonly<Record<Name, FieldType | Field>>): Readonly<Record<Name, Schema>> {
  return Object.fromEntries(Object.entries<FieldType | Field>(fields).map(([name, field]) => [name, fieldSchema(field)])) as Record<
    Name,
    Schema
  >;
}

/** An object with all of these properties. */
export function whole(properties: Readonly<Record<string, Schema>>, description?: string): Schema {
  return { type: 'object', required: Object.keys(properties), properties, ...(description === undefined ? {} : { description }) };
}

export const STRING: Schema = { type: 'string' };
export const INTEGER: Schema = { type: 'integer' };
export const BOOLEAN: Schema = { type: 'boolean' };
export const TIME: Schema = { type: 'string', format: 'date-time' };
/** A count. */
export const COUNT: Schema = { type: 'integer', minimum: 0 };
