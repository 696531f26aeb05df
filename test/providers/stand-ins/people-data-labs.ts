/**
 * A stand-in of People Data Labs, written from its published pages on 2026-11-26: docs.peopledatalabs.com/docs/authentication,
 * /introduction, /request-parameters, /usage-limits, /errors, /reference-person-enrichment-api, /input-parameters-person-enrichment-api,
 * /output-response-person-enrichment-api, /example-record, /bulk-enrichment-api, /reference-company-enrichment-api,
 * /input-parameters-company-enrichment-api, /output-response-company-enrichment-api, /example-company-record,
 * /bulk-company-enrichment-api and /faqs-company-enrichment-api; docs.peopledatalabs.com/support/billing/how-credits-work,
 * /troubleshooting/rate-limit-errors and /out-of-credits; github.com/peopledatalabs/openAPI-specifications and peopledatalabs-js.
 *
 * Where the pages are silent: a parameter outside the vendor's OpenAPI document is invalid. A batch counts as one request of its own route,
 * and a failing entry of a batch has the body that a single request would get.
 */
import { startStandIn, type StandIn, type StandInBook, type StandInCall, type StandInOptions, type StandInReply } from './stand-in.ts';
import type { Params } from './people-data-labs-records.ts';
import { areValid, COMPANY, PERSON, type Kind } from './people-data-labs-requests.ts';
import type { FixedWindows, StandInWindow } from './windows.ts';

export interface PeopleDataLabsOptions extends StandInOptions {
  /**
   * How the objects in the rate headers are written. The vendor's own client turns single quotes into double ones before it parses them:
   * `python`, the default, has single quotes and only the windows with a limit. `json` has every window, with null for those without one.
   */
  readonly rateHeaders?: 'python' | 'json';
}

interface Route {
  readonly kind: Kind;
  readonly methods: readonly string[];
  readonly isBatch: boolean;
}

/** The default limit of a paying customer. Each endpoint has a limit of its own. */
const PAYING: readonly StandInWindow[] = [{ name: 'minute', limit: 1_000 }];
const MAX_BATCH = 100;
const UNLIMITED_CREDITS = 1_000_000_000;
const READ = ['GET', 'HEAD'];

const ROUTES: ReadonlyMap<string, Route> = new Map([
  ['/v5/person/enrich', { kind: PERSON, methods: [...READ, 'POST'], isBatch: false }],
  ['/v5/person/bulk', { kind: PERSON, methods: ['POST'], isBatch: true }],
  ['/v5/company/enrich', { kind: COMPANY, methods: READ, isBatch: false }],
  ['/v5/company/enrich/bulk', { kind: COMPANY, methods: ['POST'], isBatch: true }],
]);

const ERRORS = {
  400: ['invalid_request_error', 'Request contained either missing or invalid parameters'],
  401: ['authentication_error', 'Request contained a missing or invalid key'],
  402: ['payment_required', 'You have reached your account maximum (all matches have been used)'],
  404: ['not_found', 'No records were found matching your request'],
  405: ['invalid_request_error', 'Request method is not allowed on the requested resource'],
  429: ['rate_limit_error', 'An error occurred due to requests hitting the API too quick'],
} as const;

export function startPeopleDataLabs(options: PeopleDataLabsOptions = {}): Promise<StandIn> {
  return startStandIn(options, (book) => (call) => answer(call, book, options.rateHeaders ?? 'python'));
}

function answer(call: StandInCall, book: StandInBook, style: 'python' | 'json'): StandInReply {
  const route = ROUTES.get(call.path);
  if (route === undefined) return failure(404);
  if ((call.headers['x-api-key'] ?? call.query.get('api_key')) !== book.apiKey) return failure(401);
  if (!route.methods.includes(call.method)) return failure(405);
  const windows = book.windows(call.path, PAYING);
  const isFull = windows.take(book.now()) !== null;
  const before = book.counts.charged;
  const reply = isFull ? failure(429) : book.balance <= 0 ? failure(402) : perform(call, route, book);
  return { ...reply, headers: headersOf(book, windows, route.kind, book.counts.charged - before, style) };
}

function perform(call: StandInCall, { kind, isBatch }: Route, book: StandInBook): StandInReply {
  if (call.text !== '' && !/^application\/json\b/i.test(call.headers['content-type'] ?? '')) return failure(400);
  if (call.text !== '' && !isObject(call.body)) return failure(400);
  const params: Params = { ...Object.fromEntries(call.query), ...(call.body as object | undefined) };
  if (!isBatch) return single(params, kind, book);
  const { requests, ...shared } = params;
  if (!Array.isArray(requests) || requests.length === 0 || requests.length > MAX_BATCH || !areValid(shared, kind)) return failure(400);
  if (!requests.every((entry) => isObject(entry) && isObject(entry['params']))) return failure(400);
  const answers = (requests as readonly { readonly params: Params; readonly metadata?: unknown }[]).map((entry) => {
    const { body } = book.balance <= 0 ? failure(402) : single({ ...shared, ...entry.params }, kind, book);
    return { ...(body as object), ...(entry.metadata === undefined ? {} : { metadata: entry.metadata }) };
  });
  return { status: 200, body: answers };
}

function single(params: Params, kind: Kind, book: StandInBook): StandInReply {
  if (!areValid(params, kind) || !kind.hasEnough(params)) return failure(400);
  const match = kind.match(book, params);
  book.count(match !== null);
  if (match === null) return { ...failure(404), isMiss: true };
  book.charge(kind.operation, match.paidKey);
  return { status: 200, body: match.body };
}

function failure(status: keyof typeof ERRORS): StandInReply {
  const [type, message] = ERRORS[status];
  return { status, body: { status, error: { type, message } } };
}

function headersOf(book: StandInBook, windows: FixedWindows, kind: Kind, spent: number, style: 'python' | 'json'): Record<string, string> {
  const left = Number.isFinite(book.balance) ? Math.max(0, book.balance) : UNLIMITED_CREDITS - book.counts.charged;
  const { states } = windows;
  // The shortest window is the one whose reset the vendor reports.
  const resetsAt = states[0]?.resetsAt ?? book.now();
  return {
    'x-call-credits-spent': String(spent),
    'x-call-credits-type': kind.creditsType,
    'x-ratelimit-reset': `${new Date(Math.ceil(resetsAt / 1_000) * 1_000).toISOString().slice(0, 19)}Z`,
    'x-ratelimit-remaining': objectOf(new Map(states.map(({ name, left }) => [name, left])), style),
    'x-ratelimit-limit': objectOf(new Map(states.map(({ name, limit }) => [name, limit])), style),
    'x-lifetime-used': String(book.counts.charged),
    'x-totallimit-remaining': String(left),
    'x-totallimit-purchased-remaining': String(left),
    'x-totallimit-overages-remaining': '0',
  };
}

function objectOf(values: ReadonlyMap<string, number>, style: 'python' | 'json'): string {
  if (style === 'python') return `{${[...values].map(([name, value]) => `'${name}': ${value}`).join(', ')}}`;
  return JSON.stringify({ minute: null, day: null, month: null, ...Object.fromEntries(values) });
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
