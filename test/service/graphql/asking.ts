/** Requests for GraphQL, and documents made of the schema. */
import * as fc from '../../support/fast-check.ts';
import { getNamedType, isObjectType, type GraphQLNamedType, type GraphQLObjectType, type GraphQLOutputType } from 'graphql';
import { buildSchema } from '../../../src/service/graphql/graphql-schema.ts';
import type { Reply, Requests } from '../harness.ts';

export const SCHEMA = buildSchema();

export interface GraphqlError {
  readonly message: string;
  readonly path?: readonly (string | number)[];
  readonly extensions: {
    readonly code: string;
    readonly status: number;
    readonly errors: readonly { readonly pointer?: string; readonly code: string; readonly detail: string }[];
  };
}

export interface Asked extends Reply {
  readonly data: Readonly<Record<string, unknown>> | null | undefined;
  readonly errors: readonly GraphqlError[];
  /** The codes of the errors, in order. */
  readonly codes: readonly string[];
  readonly credits: number;
}

export async function ask(
  service: Requests,
  query: string,
  options: { key?: string; headers?: Record<string, string>; variables?: unknown; operationName?: string } = {},
): Promise<Asked> {
  const { variables, operationName, ...rest } = options;
  const reply = await service.post(
    '/v1/graphql',
    { query, ...(variables === undefined ? {} : { variables }), ...(operationName === undefined ? {} : { operationName }) },
    rest,
  );
  // A problem has `errors` of its own.
  const { data, errors = [] } = ('code' in reply.json ? {} : reply.json) as { data?: Asked['data']; errors?: readonly GraphqlError[] };
  return {
    ...reply,
    data,
    errors,
    codes: errors.map(({ extensions }) => extensions.code),
    credits: Number(reply.headers.get('x-credits-charged')),
  };
}

/** Some fields of a type, each with those wanted within it. */
export interface Selection {
  readonly [field: string]: Selection | null;
}

/** Any selection of a type. @param without fields that are left out, wherever they are */
export function selectionOf(type: GraphQLOutputType | GraphQLNamedType, without: readonly string[] = []): fc.Arbitrary<Selection> {
  const named = getNamedType(type);
  if (!isObjectType(named)) return fc.constant({});
  const fields = Object.values(named.getFields()).filter(({ name }) => !without.includes(name));
  return fc
    .subarray(fields, { minLength: 1 })
    .chain((chosen) =>
      fc
        .tuple(...chosen.map((field) => (isObjectType(getNamedType(field.type)) ? selectionOf(field.type, without) : fc.constant(null))))
        .map((inner) => Object.fromEntries(chosen.map(({ name }, at) => [name, inner[at] ?? null]))),
    );
}

/** All fields of a type. */
export function wholeOf(type: GraphQLObjectType): Selection {
  return Object.fromEntries(
    Object.values(type.getFields()).map((field) => {
      const inner = getNamedType(field.type);
      return [field.name, isObjectType(inner) ? wholeOf(inner) : null];
    }),
  );
}

export function written(selection: Selection): string {
  return `{ ${Object.entries(selection)
    .map(([name, inner]) => (inner === null ? name : `${name} ${written(inner)}`))
    .join(' ')} }`;
}

/** A REST answer cut down to a selection. */
export function cutTo(value: unknown, selection: Selection): unknown {
  if (value === null || value === undefined) return null;
  if (Array.isArray(value)) return value.map((item) => cutTo(item, selection));
  const record = value as Readonly<Record<string, unknown>>;
  return Object.fromEntries(
    Object.entries(selection).map(([name, inner]) => [name, inner === null ? (record[name] ?? null) : cutTo(record[name], inner)]),
  );
}
