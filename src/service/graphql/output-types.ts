/** Types of answers, made of the schemas by which the records are published: nothing is declared twice. Pure. */
import {
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLFloat,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLObjectType,
  GraphQLString,
  isNonNullType,
  type GraphQLFieldConfigMap,
  type GraphQLNullableOutputType,
  type GraphQLOutputType,
  GraphQLError,
  GraphQLScalarType,
} from 'graphql';
import type { Schema } from '../http/body-schema.ts';
import { areNames, itemName, typeName } from './names.ts';

/** GraphQL's own Int ends at 2^31, and revenues do not. */
const WHOLE = new GraphQLScalarType<number, number>({
  name: 'Whole',
  description: 'A whole number of up to 2^53.',
  coerceOutputValue(value) {
    if (!Number.isSafeInteger(value)) throw new GraphQLError('a whole number was expected');
    return value as number;
  },
});

const JSON_VALUE = new GraphQLScalarType<unknown, unknown>({
  name: 'JSON',
  description: 'Any value: of an object whose names are not known beforehand, or of what is a text or an object.',
  coerceOutputValue: (value) => value,
});

const MAX_INT = 2 ** 31 - 1;

export class OutputTypes {
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #named = new Map<string, GraphQLObjectType>();
  /** Records share the schemas of their parts, and so their types. */
  readonly #made = new Map<Schema, GraphQLNullableOutputType>();

  /** @param schemas of the published document, by name */
  constructor(schemas: Readonly<Record<string, Schema>>) {
    this.#schemas = schemas;
  }

  /** The type of a record by its name in the document. */
  record(name: string): GraphQLObjectType {
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    const made = this.#object(name, this.#schemas[name] ?? {});
    this.#named.set(name, made);
    return made;
  }

  /** @param name of the type, where one has to be made */
  #typeOf(schema: Schema, name: string): GraphQLOutputType {
    const type = this.#nullableOf(schema, name);
    return isNullable(schema) ? type : new GraphQLNonNull(type);
  }

  #nullableOf(schema: Schema, name: string): GraphQLNullableOutputType {
    const known = this.#made.get(schema);
    if (known !== undefined) return known;
    const made = this.#make(schema, name);
    this.#made.set(schema, made);
    return made;
  }

  #make(schema: Schema, name: string): GraphQLNullableOutputType {
    const {
      $ref,
      anyOf,
      enum: values,
      properties,
      items,
    } = schema as { $ref?: string; anyOf?: readonly Schema[]; enum?: readonly unknown[]; properties?: unknown; items?: Schema };
    if ($ref !== undefined) return this.record($ref.split('/').at(-1) ?? '');
    if (anyOf !== undefined) return isUnion(anyOf) ? JSON_VALUE : this.#nullableOf(anyOf[0] ?? {}, name);
    const known = values?.filter((value) => value !== null) ?? [];
    if (known.length > 0 && areNames(known))
      return new GraphQLEnumType({ name, values: Object.fromEntries(known.map((value) => [value, {}])) });
    if (properties !== undefined) return this.#object(name, schema);
    switch (typesOf(schema)[0]) {
      case 'string':
        return GraphQLString;
      case 'boolean':
        return GraphQLBoolean;
      case 'number':
        return GraphQLFloat;
      case 'integer':
        return Number(schema['maximum'] ?? Infinity) <= MAX_INT ? GraphQLInt : WHOLE;
      case 'array':
        return new GraphQLList(items === undefined ? JSON_VALUE : this.#typeOf(items, itemName(name)));
      default:
        return JSON_VALUE;
    }
  }

  #object(name: string, schema: Schema): GraphQLObjectType {
    const required = (schema['required'] ?? []) as readonly string[];
    const fields: GraphQLFieldConfigMap<unknown, unknown> = {};
    for (const [one, inner] of Object.entries((schema['properties'] ?? {}) as Readonly<Record<string, Schema>>)) {
      const type = this.#typeOf(inner, typeName(name, one));
      fields[one] = {
        type: required.includes(one) || !isNonNullType(type) ? type : type.ofType,
        description: inner['description'] as string | undefined,
      };
    }
    return new GraphQLObjectType({ name, description: schema['description'] as string | undefined, fields });
  }
}

/** Whether a value may be of more than one type besides null: GraphQL has no type for a text or an object. */
function isUnion(choices: readonly Schema[]): boolean {
  return choices.filter(({ type }) => type !== 'null').length > 1;
}

function typesOf(schema: Schema): readonly unknown[] {
  return [schema['type']].flat();
}

function isNullable(schema: Schema): boolean {
  const { anyOf } = schema as { anyOf?: readonly Schema[] };
  return (
    typesOf(schema).includes('null') ||
    anyOf?.some((choice) => choice['type'] === 'null') === true ||
    (schema['type'] === undefined && schema['$ref'] === undefined)
  );
}
