/** From the types by which records are kept to the schemas by which they are answered. Pure. */
import type { FieldType } from '../../field-types.ts';
import { nullable, type Schema } from '../../openapi/schema.ts';
import { PARTS, TEXT_OR_PART, type Part } from '../../part-types.ts';

/** What a field says. */
export interface Saying {
  readonly says: string;
  readonly example?: unknown;
}

const TYPES: Readonly<Record<FieldType, Schema>> = {
  string: { type: 'string' },
  word: { type: 'string' },
  integer: { type: 'integer', minimum: 0 },
  number: { type: 'number' },
  boolean: { type: 'boolean' },
  date: { type: 'string', format: 'date' },
  time: { type: 'string', format: 'date-time' },
  email: { type: 'string' },
  domain: { type: 'string' },
  phone: { type: 'string' },
  strings: { type: 'array', items: { type: 'string' } },
  objects: { type: 'array' },
  object: { type: 'object' },
};

/** The schema of a record's field, `null` where nothing is known. */
export function fieldSchema(field: string, type: FieldType, { says, example }: Saying): Schema {
  const part = PARTS[field];
  const within = part === undefined ? {} : type === 'objects' ? { items: TEXT_OR_PART.includes(field) ? { ...partSchema(part), type: ['string', 'object'] } : partSchema(part) } : partSchema(part);
  return { ...nullable({ ...TYPES[type], ...within }), description: says, ...(example === undefined ? {} : { examples: [example] }) };
}

/** An object of which these are named, and there may be others; `null` where nothing is known. */
export function partSchema(part: Part): Schema {
  const properties = partProperties(part);
  const { '*': any } = properties;
  return any === undefined ? { type: 'object', required: Object.keys(properties), properties } : { type: 'object', additionalProperties: any };
}

export function partProperties(part: Part): Readonly<Record<string, Schema>> {
  return Object.fromEntries(Object.entries(part).map(([name, type]) => [name, type === 'any' ? {} : nullable(typeof type === 'string' ? TYPES[type] : partSchema(type))]));
}

/** An object that has all of these. */
export function whole(properties: Readonly<Record<string, Schema>>, description?: string): Schema {
  return { type: 'object', required: Object.keys(properties), properties, ...(description === undefined ? {} : { description }) };
}

export const STRING: Schema = { type: 'string' };
export const INTEGER: Schema = { type: 'integer' };
export const BOOLEAN: Schema = { type: 'boolean' };
export const TIME: Schema = { type: 'string', format: 'date-time' };
/** How many. */
export const COUNT: Schema = { type: 'integer', minimum: 0 };
