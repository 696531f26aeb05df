/** The service's description as OpenAPI 3.1, made from the declarations of its operations. Pure. */
import { LIMITS } from '../guards/limits.ts';
import { OPERATIONS } from './operations.ts';
import { schemaComponents } from './components.ts';
import { webhookItems } from './events.ts';
import { ALWAYS, ALWAYS_OPEN, headerComponents, headerRefs, POST_HEADERS } from './headers.ts';
import { TAGS, type DeclaredAnswer, type Example, type Operation, type Parameter } from '../http/operation.ts';
import { exampleComponents, problemResponses, responseComponents } from './problems.ts';
import { ref, type Schema } from '../http/body-schema.ts';

/** Answers of the sample set to the examples, by operation and example. */
export type SampleAnswers = Readonly<Record<string, unknown>>;

export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: Readonly<Record<string, unknown>>;
  readonly jsonSchemaDialect: string;
  readonly servers: readonly Schema[];
  readonly security: readonly Schema[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
  /** Webhook events by type. */
  readonly webhooks: Readonly<Record<string, Schema>>;
  readonly components: Readonly<Record<string, Readonly<Record<string, Schema>>>>;
}

const INTRODUCTION = `A data service of business contacts and companies, over data of the operator's own.

Every call carries an API key: \`Authorization: Bearer KEY\`. Bodies are JSON of at most 1 MiB, but for the parts of batches; headers \
have 16 KiB, path and query with them, and there are 100 at most. A header \`Expect\` other than \`100-continue\` is refused, and so is \
what is not properly percent-encoded. Fields are snake_case, what is not known is \`null\`, times are RFC 3339 in UTC, dates \`YYYY-MM-DD\`.

Every answer says what it cost and what is left of the quota, errors included. The quota is a token bucket of one minute's requests for \
each key, which fills evenly. Errors are \`application/problem+json\` (RFC 9457) with a stable \`code\`. \
A \`POST\` with an \`Idempotency-Key\` may be sent again without being charged again. Every \`GET\` answers \`HEAD\` too.

The examples are of the sample set: \`millrace serve --sample --port 8080\`, key \`sample-key\`.`;

/** @param version of the package. */
export function openApiDocument(version: string, answers: SampleAnswers): OpenApiDocument {
  const paths: Record<string, Record<string, Schema>> = {};
  for (const operation of OPERATIONS) (paths[operation.path] ??= {})[operation.method.toLowerCase()] = describe(operation, answers);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Millrace data service',
      version,
      summary: 'Search, reveal, verify and enrich business contacts.',
      description: INTRODUCTION,
      license: { name: 'MIT', identifier: 'MIT' },
    },
    jsonSchemaDialect: 'https://json-schema.org/draft/2020-12/schema',
    servers: [{ url: '/', description: 'Where this document is served.' }],
    security: [{ key: [] }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    webhooks: webhookItems(),
    components: {
      securitySchemes: { key: { type: 'http', scheme: 'bearer', description: 'An API key, made with `millrace keys create`.' } },
      headers: headerComponents() as Readonly<Record<string, Schema>>,
      schemas: schemaComponents(),
      responses: responseComponents(OPERATIONS),
      examples: exampleComponents(),
    },
  };
}

function describe(operation: Operation, answers: SampleAnswers): Schema {
  const { id, tag, summary, description, open, inPath = {}, query = {}, headers = {}, method, body, raw } = operation;
  const parameters = [
    ...Object.entries(inPath).map(([name, parameter]) => parameterObject(name, 'path', parameter)),
    ...Object.entries(query).map(([name, parameter]) => parameterObject(name, 'query', parameter)),
    ...Object.entries({ ...headers, ...(method === 'POST' ? POST_HEADERS : {}) })
      // OpenAPI 4.8.12.2: a parameter named Accept is ignored; the media types of the answers say it.
      .filter(([name]) => name !== 'Accept')
      .map(([name, parameter]) => parameterObject(name, 'header', parameter)),
  ];
  return {
    operationId: id,
    tags: [tag],
    summary,
    description,
    ...(open === true ? { security: [] } : {}),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined
      ? {}
      : {
          requestBody: {
            required: true,
            content: { 'application/json': { schema: ref(body.name), examples: requestExamples(operation) } },
          },
        }),
    ...(raw === undefined
      ? {}
      : { requestBody: { required: true, content: Object.fromEntries(Object.entries(raw).map(([type, schema]) => [type, { schema }])) } }),
    responses: { ...answered(operation, answers), ...problemResponses(operation) },
  };
}

function parameterObject(
  name: string,
  place: 'path' | 'query' | 'header',
  { description, schema: declared, example, most, divided }: Parameter,
): Schema {
  const schema =
    place === 'path' && declared['type'] === 'string' ? { ...declared, minLength: 1, maxLength: LIMITS.parameterLength } : declared;
  const shape =
    most === undefined
      ? { schema }
      : { schema: { type: 'array', items: schema, minItems: 1, maxItems: most }, style: 'form', explode: true };
  return {
    name,
    in: place,
    required: place === 'path',
    description,
    ...shape,
    ...(example === undefined
      ? {}
      : { example: most === undefined ? example : typeof example === 'string' && divided === true ? example.split(',') : [example] }),
  };
}

function requestExamples({ examples = [] }: Operation): Schema {
  return Object.fromEntries(examples.map(({ name, summary, body }) => [name, { summary, value: body }]));
}

function answered(operation: Operation, answers: SampleAnswers): Record<string, Schema> {
  return Object.fromEntries(
    Object.entries(operation.answers).map(([status, answer]) => [
      status,
      answerObject(operation, answer, status === '200' ? examplesOf(operation, answers) : {}),
    ]),
  );
}

function answerObject({ open, method }: Operation, { description, content = {}, headers = [] }: DeclaredAnswer, examples: Schema): Schema {
  const common = open === true ? ALWAYS_OPEN : ALWAYS;
  const replayed = method === 'POST' ? ['Idempotency-Replayed'] : [];
  const media = Object.entries(content).map(
    ([type, schema]) =>
      [type, { schema, ...(type === 'application/json' && Object.keys(examples).length > 0 ? { examples } : {}) }] as const,
  );
  return {
    description,
    headers: headerRefs([...common, ...headers, ...replayed]),
    ...(media.length === 0 ? {} : { content: Object.fromEntries(media) }),
  };
}

function examplesOf({ id, examples = [] }: Operation, answers: SampleAnswers): Schema {
  const known = examples.flatMap(({ name, summary }) =>
    answers[exampleId(id, name)] === undefined ? [] : [[name, { summary, value: answers[exampleId(id, name)] }] as const],
  );
  return Object.fromEntries(known);
}

export function exampleId(operation: string, example: Example['name']): string {
  return `${operation}.${example}`;
}
