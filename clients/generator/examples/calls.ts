/** The example of each operation as a call of the libraries, free of any language. Pure. */
import type { Operation } from '../../../src/service/http/operation.ts';

export interface ExampleRequest {
  readonly operation: Operation;
  /** Path and query. */
  readonly url: string;
  /** Values of the path, in its order. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A file that is read before the call: as a text for each line, or as it is. */
export interface ReadFile {
  readonly variable: string;
  readonly file: string;
  readonly as: 'lines' | 'content';
}

export interface ExampleCall {
  /** As clients/BEHAVIOUR.md names it. */
  readonly method: string;
  /** Arguments by position. */
  readonly given: readonly unknown[];
  /** Arguments by name, whose types are those of a shape of the document. */
  readonly params?: { readonly shape: string; readonly values: Readonly<Record<string, unknown>> };
  readonly reads?: ReadFile;
  /** A comment before it. */
  readonly note?: string;
  /** Uploaded by the call. */
  readonly upload?: string;
  readonly answer: Answer | null;
}

export interface Answer {
  /** `each` comes page by page or as a stream, a `list` at once. */
  readonly kind: 'one' | 'each' | 'list';
  /** The variable that has the record, or each one of them. */
  readonly name: string;
  /** Only this field is shown. */
  readonly field?: string;
  /** The shown value is a text, not a record. */
  readonly isText?: true;
}

/** The value that a variable has, such as that of `reads`. */
export class Variable {
  readonly name: string;

  constructor(name: string) {
    this.name = name;
  }
}

const LEADS = 'leads.ndjson';

const one = (name: string): Answer => ({ kind: 'one', name });
const each = (name: string): Answer => ({ kind: 'each', name });
/** It is shown once, and printing the webhook hides it. */
const secret: Answer = { kind: 'one', name: 'webhook', field: 'secret', isText: true };

/** Calls by operation. To add one, add its row. */
const CALLS: Readonly<Record<string, (request: ExampleRequest) => ExampleCall>> = {
  enrich: (request) => ({ method: 'enrich', given: [], params: of('EnrichParams', request.body), answer: one('person') }),
  enrichBulk: ({ body }) => ({
    method: 'enrich_bulk',
    given: [fieldsOf(body)['requests']],
    answer: { kind: 'one', name: 'results', field: 'data' },
  }),
  searchContacts: ({ query }) => ({
    method: 'search_contacts',
    given: [],
    params: of('ContactFilters', withoutLimit(query)),
    answer: each('contact'),
  }),
  searchContactsByBody: ({ body }) => ({
    method: 'search_contacts',
    given: [],
    params: of('ContactFilters', { ...withoutLimit(fieldsOf(body)), domain: new Variable('domains') }),
    note: 'A search of more than 4,000 characters is sent as a body.',
    reads: { variable: 'domains', file: 'domains.txt', as: 'lines' },
    answer: each('contact'),
  }),
  revealContact: ({ body }) => ({ method: 'reveal', given: [], params: of('RevealParams', body), answer: one('contact') }),
  verifyEmails: ({ body }) => {
    const { emails, ...options } = fieldsOf(body);
    return { method: 'verify_batch', given: [emails], params: of('VerifyOptions', options), answer: one('verdicts') };
  },
  getVerification: ({ path }) => ({ method: 'wait_for_verification', given: path, answer: one('verdicts') }),
  createBatch: ({ body }) => ({
    method: 'batches.create',
    given: [],
    params: of('BatchParams', body),
    upload: LEADS,
    answer: one('batch'),
  }),
  putBatchPart: ({ path: [id, number] }) => ({
    method: 'batches.upload_part',
    given: [id, Number(number), new Variable('lines')],
    reads: { variable: 'lines', file: LEADS, as: 'content' },
    answer: one('part'),
  }),
  completeBatch: ({ path }) => ({ method: 'batches.complete', given: path, answer: one('batch') }),
  getBatch: ({ path }) => ({ method: 'batches.get', given: path, answer: one('batch') }),
  listBatches: () => ({ method: 'batches.list', given: [], answer: each('batch') }),
  getBatchResults: ({ path }) => ({ method: 'batches.results', given: path, answer: each('line') }),
  changeBatch: ({ path, body }) => ({ method: 'batches.update', given: path, params: of('BatchUpdate', body), answer: one('batch') }),
  cancelBatch: ({ path }) => ({ method: 'batches.cancel', given: path, answer: one('batch') }),
  deleteBatch: ({ path }) => ({ method: 'batches.delete', given: path, answer: null }),
  getCompany: ({ path }) => ({ method: 'company', given: path, answer: one('company') }),
  listSignals: ({ query }) => ({
    method: 'signals',
    given: [],
    params: of('SignalFilters', withoutLimit(query)),
    answer: each('signal'),
  }),
  graphql: ({ body }) => ({ method: 'graphql', given: [fieldsOf(body)['query']], answer: { kind: 'one', name: 'answer', field: 'data' } }),
  createWebhook: ({ body }) => ({ method: 'webhooks.create', given: [], params: of('WebhookParams', body), answer: secret }),
  listWebhooks: () => ({ method: 'webhooks.list', given: [], answer: { kind: 'list', name: 'webhook' } }),
  getWebhook: ({ path }) => ({ method: 'webhooks.get', given: path, answer: one('webhook') }),
  changeWebhook: ({ path, body }) => ({
    method: 'webhooks.update',
    given: path,
    params: of('WebhookUpdate', body),
    answer: one('webhook'),
  }),
  deleteWebhook: ({ path }) => ({ method: 'webhooks.delete', given: path, answer: null }),
  rotateWebhookSecret: ({ path }) => ({ method: 'webhooks.rotate_secret', given: path, answer: secret }),
  testWebhook: ({ path }) => ({ method: 'webhooks.test', given: path, answer: one('outcome') }),
  listWebhookDeliveries: ({ path }) => ({ method: 'webhooks.deliveries', given: path, answer: each('delivery') }),
  redeliverWebhook: ({ path }) => ({ method: 'webhooks.redeliver', given: path, answer: one('delivery') }),
  getHealth: () => ({ method: 'health', given: [], answer: one('health') }),
  getReadiness: () => ({ method: 'ready', given: [], answer: one('readiness') }),
  getOpenApi: () => ({ method: 'openapi', given: [], answer: one('document') }),
};

/** The request that an operation's example makes: its first published one, with the examples of parameters where that has no value. */
export function exampleRequest(operation: Operation): ExampleRequest {
  const { path = {}, query = {}, body } = operation.examples?.[0] ?? {};
  const values = Object.entries(operation.inPath ?? {}).map(([name, { example }]) => [name, path[name] ?? String(example)] as const);
  const filled = values.reduce((url: string, [name, value]) => url.replace(`{${name}}`, encodeURIComponent(value)), operation.path);
  const search = new URLSearchParams(query).toString();
  return { operation, url: search === '' ? filled : `${filled}?${search}`, path: values.map(([, value]) => value), query, body };
}

/** @throws Error for an operation that has no row in `CALLS` */
export function exampleCall(request: ExampleRequest): ExampleCall {
  const call = CALLS[request.operation.id];
  if (call === undefined) throw new Error(`${request.operation.id} has no example; give it a row in clients/generator/examples/calls.ts`);
  return call(request);
}

function of(shape: string, values: unknown): NonNullable<ExampleCall['params']> {
  return { shape, values: fieldsOf(values) };
}

/** The size of a page is the library's own business: it asks for the next page by itself. */
function withoutLimit(values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => name !== 'limit'));
}

function fieldsOf(body: unknown): Readonly<Record<string, unknown>> {
  return body as Readonly<Record<string, unknown>>;
}
