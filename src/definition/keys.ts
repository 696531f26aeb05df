/** Every key of the schema, flat, with its flag and its variable. Derived once by walking the schema. */
import type { z } from 'zod';
import { SHORT_FLAGS, variableOf } from './flags.ts';
import { keyNotes } from './schema-key.ts';
import { jobSchema } from './schema.ts';
import { present } from '../util/assert.ts';

/** How a text becomes a value. `either` is a number where it looks like one. */
export type Kind = 'text' | 'number' | 'switch' | 'list' | 'map' | 'either';

export interface JobKey {
  /** Dotted path in a job file. */
  readonly path: string;
  /** Without the leading `--`. */
  readonly flag: string;
  readonly variable: string;
  readonly kind: Kind;
  readonly nullable: boolean;
  readonly split: ',' | '\n' | null;
  readonly hasJsonEntries: boolean;
  /** The schema of a map's entries, where these are mappings of settings; else null. */
  readonly entrySchema: z.ZodObject | null;
  readonly expected: string;
  /** The permitted words, for keys that have few. */
  readonly words: readonly string[];
  readonly description: string;
  /** Undefined without a default. */
  readonly default: unknown;
  readonly schema: z.ZodType;
}

/** The parts of zod's definitions that the walk reads. */
interface Definition {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly element?: z.ZodType;
  readonly values?: readonly unknown[];
  readonly entries?: Readonly<Record<string, string>>;
  readonly valueType?: z.ZodType;
}

const definition = (schema: z.ZodType): Definition => schema.def;
const WRAPPERS = new Set(['default', 'prefault', 'nullable', 'optional']);

export function kindOf(schema: z.ZodType): Kind {
  const def = definition(schema);
  switch (def.type) {
    case 'number':
    case 'literal':
      return 'number';
    case 'boolean':
      return 'switch';
    case 'array':
      return 'list';
    case 'record':
      return 'map';
    case 'union': {
      const types = (def.options ?? []).map((option) => definition(unwrapped(option)).type);
      if (types.includes('record')) return 'map';
      return types.includes('array') ? 'list' : types.includes('boolean') ? 'switch' : 'either';
    }
    default:
      return 'text';
  }
}

/** The words of an enumeration, a switch or a literal, at any depth of a key's schema. */
function wordsOf(schema: z.ZodType): readonly string[] {
  const def = definition(schema);
  if (def.type === 'boolean') return ['true', 'false'];
  if (def.type === 'enum') return Object.values(def.entries ?? {});
  if (def.type === 'literal') return (def.values ?? []).filter((value) => typeof value === 'string');
  if (def.type === 'union') return (def.options ?? []).flatMap(wordsOf);
  return def.element === undefined ? [] : wordsOf(def.element);
}

/** The schema without its defaults, and whether it may be null or left out. */
export function unwrapped(schema: z.ZodType): z.ZodType {
  let inner = schema;
  while (WRAPPERS.has(definition(inner).type)) inner = definition(inner).innerType ?? inner;
  return inner;
}

function isNullable(schema: z.ZodType): boolean {
  const { type, innerType } = definition(schema);
  return type === 'nullable' || (WRAPPERS.has(type) && innerType !== undefined && isNullable(innerType));
}

function entrySchemaOf(schema: z.ZodType): z.ZodObject | null {
  const { valueType } = definition(schema);
  return valueType !== undefined && definition(valueType).type === 'object' ? (valueType as z.ZodObject) : null;
}

function describeKey(path: string, schema: z.ZodType): JobKey {
  const notes = present(keyNotes.get(schema), `the schema says what ${path} expects`);
  const inner = unwrapped(schema);
  const nullable = isNullable(schema);
  const flag = SHORT_FLAGS[path] ?? path;
  return {
    path,
    flag,
    variable: variableOf(flag),
    kind: kindOf(inner),
    nullable: nullable || definition(inner).type === 'null',
    split: notes.split ?? null,
    hasJsonEntries: notes.hasJsonEntries ?? false,
    entrySchema: entrySchemaOf(inner),
    expected: notes.expected,
    words: wordsOf(inner),
    description: schema.description ?? '',
    default: schema.safeParse(undefined).data,
    schema,
  };
}

/** Sections of the schema by dotted path (the whole is ''), each with the names of its keys. */
const sections = new Map<string, readonly string[]>();
const keys: JobKey[] = [];

function walk(path: string, schema: z.ZodType): void {
  let inner = schema;
  while (definition(inner).type === 'prefault') inner = definition(inner).innerType ?? inner;
  if (definition(inner).type !== 'object') {
    keys.push(describeKey(path, schema));
    return;
  }
  const shape = (inner as z.ZodObject).shape as Record<string, z.ZodType>;
  sections.set(path, Object.keys(shape));
  for (const [name, member] of Object.entries(shape)) walk(path === '' ? name : `${path}.${name}`, member);
}
walk('', jobSchema);

export const KEYS: readonly JobKey[] = keys;
export const SECTIONS: ReadonlyMap<string, readonly string[]> = sections;
export const KEY_BY_PATH: ReadonlyMap<string, JobKey> = new Map(keys.map((key) => [key.path, key]));
export const KEY_BY_FLAG: ReadonlyMap<string, JobKey> = new Map(keys.map((key) => [key.flag, key]));

/** Splits `output.fields.Job Title` into the map `output.fields` and its entry. Null when `name` is not an entry of a map. */
export function entryOf(name: string): { readonly key: JobKey; readonly entry: string } | null {
  for (const key of keys) {
    if (key.kind === 'map' && name.length > key.path.length + 1 && name.startsWith(`${key.path}.`)) {
      return { key, entry: name.slice(key.path.length + 1) };
    }
  }
  return null;
}
