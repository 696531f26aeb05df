/** Validates answers against the published OpenAPI document: status, headers and body. */
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { expect } from 'vitest';
import { HEADERS } from '../../src/service/openapi/headers.ts';
import { publishedDocument } from '../../src/service/openapi/published.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface ResponseObject {
  readonly headers: Readonly<Record<string, Json>>;
  readonly content?: Readonly<
    Record<string, { readonly schema: Json; readonly examples?: Readonly<Record<string, { readonly value: unknown }>> }>
  >;
}

export interface OperationObject {
  readonly operationId: string;
  readonly parameters?: readonly {
    readonly name: string;
    readonly in: 'path' | 'query' | 'header';
    readonly schema: Json;
    readonly example?: unknown;
  }[];
  readonly requestBody?: {
    readonly content: {
      readonly 'application/json'?: { readonly schema: Json; readonly examples: Readonly<Record<string, { readonly value: unknown }>> };
    };
  };
  readonly responses: Readonly<Record<string, ResponseObject>>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

export const DOCUMENT = publishedDocument();

const ajv = new Ajv2020({ strict: true, strictTypes: false, strictRequired: false });
formats.default(ajv);
ajv.addVocabulary(['example', 'components', 'paths', 'webhooks', 'info', 'tags', 'openapi', 'jsonSchemaDialect', 'servers', 'security']);
ajv.addSchema(
  {
    ...structuredClone(DOCUMENT),
    components: {
      ...DOCUMENT.components,
      schemas: Object.fromEntries(Object.entries(DOCUMENT.components['schemas'] ?? {}).map(([name, schema]) => [name, closed(schema)])),
    },
  },
  'document',
);

/** Forbids undocumented fields in records and in their objects: a new field must be documented first. */
function closed(schema: Json): Json {
  const { properties, items, anyOf, additionalProperties } = schema as {
    properties?: Record<string, Json>;
    items?: Json;
    anyOf?: readonly Json[];
    additionalProperties?: unknown;
  };
  // Request bodies forbid them in the document itself.
  if (additionalProperties !== undefined) return schema;
  return {
    ...schema,
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, closed(inner)])),
          additionalProperties: false,
        }),
    ...(items === undefined ? {} : { items: closed(items) }),
    ...(anyOf === undefined ? {} : { anyOf: anyOf.map(closed) }),
  };
}

const compiled = new Map<string, ValidateFunction>();

/** Validates by the schema at a place in the document. */
export function validatorAt(...path: readonly string[]): ValidateFunction {
  const pointer = path.map((part) => encodeURIComponent(part.replaceAll('~', '~0').replaceAll('/', '~1'))).join('/');
  const found = compiled.get(pointer) ?? ajv.compile({ $ref: `document#/${pointer}` });
  compiled.set(pointer, found);
  return found;
}

/** The path templates of the document, as patterns. */
const TEMPLATES = Object.keys(DOCUMENT.paths).map((template) => ({
  template,
  pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
}));

export function operationAt(
  method: string,
  path: string,
): { readonly template: string; readonly method: string; readonly operation: OperationObject } | null {
  const { template } = TEMPLATES.find(({ pattern }) => pattern.test(path)) ?? {};
  const name = method === 'HEAD' ? 'get' : method.toLowerCase();
  const operation = template === undefined ? undefined : DOCUMENT.paths[template]?.[name];
  return template === undefined || operation === undefined
    ? null
    : { template, method: name, operation: operation as unknown as OperationObject };
}

/** An operation's answer with a status, and its place in the document. */
export function responseAt(operation: OperationObject, status: string): ResponseObject | undefined {
  const found = operation.responses[status];
  return found !== undefined && '$ref' in found ? (DOCUMENT.components['responses']?.[nameOf(found)] as unknown as ResponseObject) : found;
}

function nameOf({ $ref }: { readonly $ref?: unknown }): string {
  return String($ref).split('/').at(-1) ?? '';
}

const problemOf = validatorAt('components', 'schemas', 'Problem');
const QUOTA = [
  'x-ratelimit-limit',
  'x-ratelimit-remaining',
  'x-ratelimit-reset',
  'ratelimit-policy',
  'ratelimit',
  'x-request-id',
  'x-credits-charged',
];

/** Fails unless the answer to a request agrees with the document. @param url path and query */
export function checkAnswer(method: string, url: string, answer: Answer): void {
  const path = url.split('?')[0] ?? '';
  const found = operationAt(method, path);
  const what = `${method} ${path} ${answer.status}: ${answer.text.slice(0, 500)}`;
  if (found === null) {
    // No operation: the path does not exist, or takes other methods.
    expect(answer.status, what).toBeGreaterThanOrEqual(400);
    if (method !== 'HEAD') expect(valid(problemOf, JSON.parse(answer.text)), what).toBe(true);
    for (const name of QUOTA) expect(answer.headers.get(name), `${name} of ${what}`).not.toBeNull();
    return;
  }
  const documented = responseAt(found.operation, String(answer.status));
  expect(documented, `${what} is documented`).toBeDefined();
  if (documented === undefined) return;
  checkHeaders(documented, answer, what);
  const given = found.operation.responses[answer.status] as { readonly $ref?: unknown };
  const place =
    given.$ref === undefined
      ? ['paths', found.template, found.method, 'responses', String(answer.status)]
      : ['components', 'responses', nameOf(given)];
  checkBody(place, documented, method, answer, what);
}

function checkHeaders(documented: ResponseObject, { headers }: Answer, what: string): void {
  for (const [name, { required }] of Object.entries(HEADERS)) {
    const value = headers.get(name);
    if (!Object.hasOwn(documented.headers, name)) expect(value, `${name}, undocumented, of ${what}`).toBeNull();
    else if (required === true) expect(value, `${name} of ${what}`).not.toBeNull();
    if (value === null) continue;
    const schema = validatorAt('components', 'headers', name, 'schema');
    expect(valid(schema, /^\d+$/.test(value) ? Number(value) : value), `${name}: ${value} of ${what}`).toBe(true);
  }
}

function checkBody(place: readonly string[], { content }: ResponseObject, sent: string, { headers, text }: Answer, what: string): void {
  if (content === undefined || sent === 'HEAD') {
    expect(text, what).toBe('');
    return;
  }
  const type = headers.get('content-type') ?? '';
  const media = Object.keys(content).find((one) => type === one || type === `${one}; charset=utf-8`);
  expect(media, `${type} of ${what}`).toBeDefined();
  if (media === undefined || !/json/.test(media)) return;
  const schema = validatorAt(...place, 'content', media, 'schema');
  const bodies = media === 'application/x-ndjson' ? text.split('\n').filter((line) => line !== '') : [text];
  for (const body of bodies) expect(valid(schema, JSON.parse(body)), what).toBe(true);
}

/** Fails unless a webhook's body agrees with the document. */
export function checkEvent({ type, ...body }: { readonly type: string }): void {
  expect(Object.keys(DOCUMENT.webhooks)).toContain(type);
  expect(
    valid(validatorAt('webhooks', type, 'post', 'requestBody', 'content', 'application/json', 'schema'), { type, ...body }),
    JSON.stringify(body).slice(0, 500),
  ).toBe(true);
}

/** True, or the validation errors. */
export function valid(schema: ValidateFunction, value: unknown): true | string {
  return schema(value) ? true : JSON.stringify(schema.errors);
}
