/** Types of what a call is given, made of the declarations by which REST reads the same. Pure. */
import {
  GraphQLBoolean,
  GraphQLEnumType,
  GraphQLInputObjectType,
  GraphQLInt,
  GraphQLList,
  GraphQLNonNull,
  GraphQLString,
  type GraphQLArgumentConfig,
  type GraphQLNullableInputType,
} from 'graphql';
import type { Parameter, Parameters } from '../http/operation.ts';
import type { Body, SchemaField } from '../http/body-schema.ts';
import { areNames, typeName } from './names.ts';

export type Arguments = Record<string, GraphQLArgumentConfig>;

/**
 * The fields of a body. Object fields are left out.
 * @param parent names the types that have to be made
 * @param without fields that are not wanted
 */
export function bodyArguments(parent: string, { properties, required = [] }: Body, without: readonly string[] = []): Arguments {
  const args: Arguments = {};
  for (const [name, field] of Object.entries(properties)) {
    const type = fieldType(typeName(parent, name), field);
    if (type === null || without.includes(name)) continue;
    args[name] = {
      type: required.includes(name) ? new GraphQLNonNull(type) : type,
      description: field.description,
      ...(field.default === undefined ? {} : { default: { value: field.default } }),
    };
  }
  return args;
}

/** The parameters of a query; a single value may stand for a list of one. */
export function parameterArguments(parent: string, parameters: Parameters): Arguments {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => [name, parameterArgument(typeName(parent, name), parameter)]),
  );
}

export function parameterArgument(name: string, { schema, most, description, example }: Parameter): GraphQLArgumentConfig {
  const one = leafType(name, schema['type'], schema['enum'] as readonly unknown[] | undefined);
  return {
    type: most === undefined ? one : new GraphQLList(new GraphQLNonNull(one)),
    description: typeof example === 'string' ? `${description} Such as \`${example}\`.` : description,
    ...(schema['default'] === undefined ? {} : { default: { value: schema['default'] } }),
  };
}

/** The same as one object. */
export function parameterObject(name: string, parameters: Parameters): GraphQLInputObjectType {
  return new GraphQLInputObjectType({ name, fields: parameterArguments(name, parameters) });
}

function fieldType(name: string, field: SchemaField): GraphQLNullableInputType | null {
  switch (field.type) {
    case 'string':
      return leafType(name, field.type, field.enum);
    case 'boolean':
    case 'integer':
      return leafType(name, field.type, undefined);
    case 'array':
      return field.items.type === 'string' ? new GraphQLList(new GraphQLNonNull(leafType(name, 'string', field.items.enum))) : null;
    case 'object':
      return null;
    default:
      return field satisfies never;
  }
}

function leafType(name: string, type: unknown, values: readonly unknown[] | undefined): GraphQLNullableInputType {
  if (values !== undefined && areNames(values))
    return new GraphQLEnumType({ name, values: Object.fromEntries(values.map((value) => [value, {}])) });
  return type === 'boolean' ? GraphQLBoolean : type === 'integer' ? GraphQLInt : GraphQLString;
}
