/** Checks a definition against the schema, and says in words what is wrong with its first wrong key. Pure. */
import type { z } from 'zod';
import { ConfigError } from '../../util/errors.ts';
import { isObject } from '../../util/is-object.ts';
import { didYouMean, nearest } from '../../util/nearest.ts';
import { show } from '../../util/show.ts';
import { keyOf, placeOf, refusalAt, type DefinitionFile } from './definition-file.ts';
import { misspeltStep } from './own-step.ts';
import { expectations } from './schema-key.ts';
import { providerSchema, type RawProvider } from './schema.ts';
import { isSecretName, secretAt } from './secrets.ts';

/** Characters after which unknown names are cut. */
const MAX_NAME = 100;

/** @throws ConfigError that names file, line and key; of several wrong keys the one that stands first */
export function checkShape(definition: DefinitionFile): RawProvider {
  const { raw, faults } = shapeOf(definition);
  const [first] = faults;
  if (first !== undefined) throw first;
  return raw as RawProvider;
}

/** The content; null when a key is wrong. The faults stand in the order of their lines. @throws ConfigError when it is no mapping */
export function shapeOf(definition: DefinitionFile): { readonly raw: RawProvider | null; readonly faults: readonly ConfigError[] } {
  if (!isObject(definition.value))
    throw new ConfigError(
      'bad_value',
      `A provider definition must be a mapping of keys, got ${show(definition.value)} (${definition.file})`,
    );
  const result = providerSchema.safeParse(definition.value);
  const misspelt = misspeltSteps(definition, definition.value['operations']);
  if (result.success && misspelt.length === 0) return { raw: result.data, faults: [] };
  const issues = result.success ? [] : result.error.issues.flatMap((issue) => refusalsOf(definition, issue));
  const refusals = [...issues.filter(({ key }) => misspelt.every((one) => !key.startsWith(`${one.key}.`))), ...misspelt];
  const lineOf = ({ key }: Refused): number => placeOf(definition, key).line ?? Number.MAX_SAFE_INTEGER;
  return { raw: null, faults: refusals.toSorted((a, b) => lineOf(a) - lineOf(b)).map(({ error }) => error) };
}

interface Refused {
  readonly key: string;
  readonly error: ConfigError;
}

function misspeltSteps(definition: DefinitionFile, operations: unknown): Refused[] {
  if (!isObject(operations)) return [];
  return Object.entries(operations).flatMap(([name, written]) => {
    const error = misspeltStep(definition, name, written);
    return error === null ? [] : [{ key: `operations.${name}`, error }];
  });
}

function refusalsOf(definition: DefinitionFile, issue: z.core.$ZodIssue): Refused[] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((name) => {
      const key = keyOf([...issue.path, name]);
      return { key, error: unknownKey(definition, issue.path, name, key) };
    });
  const key = keyOf(issue.path);
  return [{ key, error: wrongValue(definition, issue, key) }];
}

function unknownKey(definition: DefinitionFile, path: readonly PropertyKey[], name: string, key: string): ConfigError {
  if (isSecretName(name)) return secretAt(definition, key);
  const known = namesAt(path);
  const near = nearest(name, known);
  const meant = near === null ? null : keyOf([...path, near]);
  const section = path.length === 0 ? 'a provider definition' : keyOf(path);
  return refusalAt(
    definition,
    key,
    'unknown_key',
    `There is no key ${key.slice(0, MAX_NAME)}${didYouMean(meant)}`,
    `Keys of ${section}: ${known.join(', ')}.`,
  );
}

function wrongValue(definition: DefinitionFile, issue: z.core.$ZodIssue, key: string): ConfigError {
  const value = valueAt(definition.value, issue.path);
  if (issue.code === 'invalid_key') {
    const expected = expectedOf(recordKeyAt(issue.path.slice(0, -1)));
    return refusalAt(definition, key, 'bad_value', `${key}: the name must be ${expected}, got ${show(issue.path.at(-1))}`);
  }
  const schema = schemaAt(issue.path);
  if (value === undefined) return refusalAt(definition, key, 'missing_key', `${key} is missing: ${expectedOf(schema)}`);
  const words = schema === null ? [] : wordsOf(schema);
  const suggestion = typeof value === 'string' ? nearest(value, words) : null;
  return refusalAt(
    definition,
    key,
    'bad_value',
    `${key} must be ${expectedOf(schema)}${isAuthentication(key) ? '' : `, got ${show(value)}`}${didYouMean(suggestion)}`,
  );
}

function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((found, part) => (typeof found === 'object' && found !== null ? Reflect.get(found, part) : undefined), value);
}

/** The parts of zod's definitions that are read here. */
interface Definition {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly element?: z.ZodType;
  readonly keyType?: z.ZodType;
  readonly valueType?: z.ZodType;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
  readonly catchall?: z.ZodType;
  readonly entries?: Readonly<Record<string, string>>;
}
const definitionOf = (schema: z.ZodType): Definition => schema.def;

/** Without optional, default and the like. */
function bare(schema: z.ZodType): z.ZodType {
  const { innerType } = definitionOf(schema);
  return innerType === undefined ? schema : bare(innerType);
}

/** The schema of a key as it was declared; null below an expression written as a mapping. */
function schemaAt(path: readonly PropertyKey[]): z.ZodType | null {
  return path.reduce<z.ZodType | null>((schema, part) => {
    if (schema === null) return null;
    const { shape, catchall, element, valueType } = definitionOf(bare(schema));
    return shape?.[String(part)] ?? catchall ?? element ?? valueType ?? null;
  }, providerSchema);
}

function recordKeyAt(path: readonly PropertyKey[]): z.ZodType | null {
  const schema = schemaAt(path);
  return schema === null ? null : (definitionOf(bare(schema)).keyType ?? null);
}

function namesAt(path: readonly PropertyKey[]): readonly string[] {
  const schema = schemaAt(path);
  return schema === null ? [] : Object.keys(definitionOf(bare(schema)).shape ?? {});
}

function wordsOf(schema: z.ZodType): readonly string[] {
  return Object.values(definitionOf(bare(schema)).entries ?? {});
}

function expectedOf(schema: z.ZodType | null): string {
  return (schema === null ? undefined : expectations.get(schema)?.expected) ?? 'a JSONata expression as text';
}

/** A value that stands there by mistake may be the API key itself. */
function isAuthentication(key: string): boolean {
  return key === 'authentication' || key.startsWith('authentication.');
}
