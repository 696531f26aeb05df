/** Requests made from the published document: such as it allows, and such as it does not. */
import * as fc from '../../support/fast-check.ts';
import { DOCUMENT, type Json, type OperationObject } from '../answers.ts';

export interface Described {
  readonly path: string;
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly operation: OperationObject;
  /** Needs no key. */
  readonly open: boolean;
}

export const DESCRIBED: readonly Described[] = Object.entries(DOCUMENT.paths).flatMap(([path, item]) =>
  Object.entries(item).map(([method, operation]) => ({
    path,
    method: method.toUpperCase() as Described['method'],
    operation: operation as unknown as OperationObject,
    open: 'security' in operation,
  })),
);

export interface Sent {
  readonly url: string;
  readonly body?: unknown;
  /**
   * Values that fit their schema, and may mean nothing all the same: a range that ends before it begins, a filter that an event does not
   * know.
   */
  readonly risky: boolean;
}

/** The schema of a body, which is always a component. */
export function bodyOf({ requestBody }: OperationObject): { readonly name: string; readonly schema: Json } | null {
  if (requestBody === undefined) return null;
  const json = requestBody.content['application/json'];
  // A body that is not JSON is streamed, and not described further.
  if (json === undefined) return null;
  const name = String(json.schema['$ref']).split('/').at(-1) ?? '';
  return { name, schema: DOCUMENT.components['schemas']?.[name] ?? {} };
}

/** A request that the document allows. */
export function validRequest({ path, operation }: Described): fc.Arbitrary<Sent> {
  const parameters = operation.parameters ?? [];
  const inQuery = parameters.filter((parameter) => parameter.in === 'query' && parameter.example !== undefined);
  const query = fc
    .subarray(inQuery, { maxLength: Math.min(inQuery.length, 6) })
    .chain((chosen) =>
      fc.tuple(...chosen.map((parameter) => fc.tuple(fc.constant(parameter.name), valueOf(parameter.schema, parameter.example)))),
    );
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    encodeURIComponent(String(parameters.find((parameter) => parameter.name === name)?.example)),
  );
  const body = bodyOf(operation);
  const sent = body === null ? fc.constant(undefined) : objectOf(body.schema);
  return fc.tuple(query, sent).map(([pairs, value]) => {
    const text = pairs
      .flatMap(([name, found]) => [found].flat().map((one) => `${encodeURIComponent(name)}=${encodeURIComponent(String(one))}`))
      .join('&');
    return {
      url: text === '' ? filled : `${filled}?${text}`,
      ...(body === null ? {} : { body: value }),
      risky:
        areDays(pairs.map(([name]) => name)) ||
        pairs.some(([name]) => hasPattern(inQuery.find((one) => one.name === name)?.schema ?? {})) ||
        hasPattern(body?.schema ?? {}) ||
        (typeof value === 'object' && value !== null && 'filter' in value),
    };
  });
}

/** Two days are drawn independently, so that the last may come first. */
function areDays(names: readonly string[]): boolean {
  return names.includes('since') && names.includes('until');
}

function hasPattern(schema: Json): boolean {
  return JSON.stringify(schema).includes('"pattern"');
}

/** An object with one of its forms, and some other fields. */
function objectOf(schema: Json): fc.Arbitrary<unknown> {
  const properties = schema['properties'] as Readonly<Record<string, Json>>;
  const forms = ((schema['oneOf'] ?? [{ required: schema['required'] ?? [] }]) as readonly { readonly required: readonly string[] }[]).map(
    ({ required }) => required,
  );
  const inForms = new Set(forms.flat());
  const rest = Object.keys(properties).filter((name) => !inForms.has(name));
  return fc
    .tuple(fc.constantFrom(...forms), fc.subarray(rest, { maxLength: Math.min(rest.length, 4) }))
    .chain(([form, more]) =>
      fc.record(Object.fromEntries([...form, ...more].map((name) => [name, fieldOf(properties[name] ?? {}, form.includes(name))]))),
    );
}

function fieldOf(schema: Json, needed: boolean): fc.Arbitrary<unknown> {
  const [example] = (schema['examples'] ?? [null]) as readonly unknown[];
  const value = valueOf(schema, example);
  return needed
    ? value.filter((one) => one !== null)
    : fc.oneof({ weight: 4, arbitrary: value }, { weight: 1, arbitrary: fc.constant(null) });
}

/** A value by its schema; of text that is not described further, the example. */
function valueOf(schema: Json, example: unknown): fc.Arbitrary<unknown> {
  const choices = schema['anyOf'] as readonly Json[] | undefined;
  if (choices !== undefined) return fc.oneof(...choices.map((choice) => valueOf(choice, ofType(choice, example))));
  const values = schema['enum'] as readonly unknown[] | undefined;
  if (values !== undefined) return fc.constantFrom(...values.filter((value) => value !== null));
  const [type] = [schema['type'] as string | string[]].flat();
  switch (type) {
    case 'integer':
      return fc.integer({ min: Number(schema['minimum']), max: Number(schema['maximum']) });
    case 'boolean':
      return fc.boolean();
    case 'array': {
      const [first] = [example].flat();
      return fc.array(valueOf(schema['items'] as Json, first), { minLength: 1, maxLength: 3 });
    }
    case 'string':
      if (schema['format'] === 'date')
        return fc
          .date({ min: new Date('1970-01-01'), max: new Date('2099-12-31'), noInvalidDate: true })
          .map((day) => day.toISOString().slice(0, 10));
      return typeof schema['pattern'] === 'string' ? fc.stringMatching(new RegExp(schema['pattern'])) : fc.constant(example);
    case 'null':
      return fc.constant(null);
    default:
      return fc.constant(example ?? null);
  }
}

function ofType(choice: Json, example: unknown): unknown {
  return choice['type'] === 'array' ? [example] : example;
}

/** Values that a schema probably does not allow, each with what is wrong about it. */
export function oddValues(schema: Json): readonly { readonly wrong: string; readonly value: unknown }[] {
  const found: { wrong: string; value: unknown }[] = Object.entries({
    text: 'no such value',
    number: 1.5,
    boolean: true,
    list: [],
    'list of another type': [{}],
    'list of odd text': ['no such value'],
    object: {},
  }).map(([wrong, value]) => ({ wrong, value }));
  if (schema['maximum'] !== undefined)
    found.push({ wrong: 'too small', value: Number(schema['minimum']) - 1 }, { wrong: 'too large', value: Number(schema['maximum']) + 1 });
  if (typeof schema['maxItems'] === 'number') {
    const [example] = ((schema['examples'] ?? []) as readonly (readonly unknown[])[])[0] ?? [];
    found.push({ wrong: 'too many', value: Array.from({ length: schema['maxItems'] + 1 }, () => example) });
  }
  return found;
}
