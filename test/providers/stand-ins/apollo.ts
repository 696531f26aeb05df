/**
 * A stand-in of Apollo, written on 2026-11-26 from its published pages: docs.apollo.io/reference/people-enrichment,
 * /bulk-people-enrichment, /organization-enrichment, /bulk-organization-enrichment, /poll-webhook-result, /rate-limits, /status-codes and
 * /errors-1; docs.apollo.io/docs/enrich-people-data and /convert-enriched-people-to-contacts; and Apollo's own OpenAPI document.
 *
 * Where the pages are silent: an unknown parameter is a 422, and a company without a match is null. Too low a balance is the 422 that the
 * pages of conversations show. Waterfall enrichment is no part of this stand-in, and phones come only by the poll of a webhook result.
 */
import { enrichOrganization, enrichOrganizations, matchPeople, matchPerson, type Operation } from './apollo-operations.ts';
import { ApolloPhones } from './apollo-phones.ts';
import { startStandIn, type StandIn, type StandInBook, type StandInCall, type StandInOptions, type StandInReply } from './stand-in.ts';
import type { FixedWindows, StandInWindow, WindowName, WindowState } from './windows.ts';

export interface ApolloOptions extends StandInOptions {
  /** The plan whose documented limits hold. The default is `professional`. */
  readonly plan?: 'free' | 'basic' | 'professional' | 'organization';
  /** The endpoints that the key may call, as `api/v1/people/match`. The default is all, as for a master key. */
  readonly scope?: readonly string[];
  /** Milliseconds until revealed phones can be polled. The default is 10 seconds. */
  readonly phoneDelayMs?: number;
}

interface Route {
  readonly method: 'GET' | 'POST';
  readonly kind: 'single' | 'batch' | 'other';
  readonly perform: Operation;
}

const limits = (minute: number, hour: number, day: number): readonly StandInWindow[] => [
  { name: 'minute', limit: minute },
  { name: 'hour', limit: hour },
  { name: 'day', limit: day },
];

/** Limits by plan. Enrichment on a paid plan has no limit by hour or day. */
const PAID_ENRICHMENT: readonly StandInWindow[] = [{ name: 'minute', limit: 1_000 }];
const FREE = { single: limits(50, 200, 600), batch: limits(20, 100, 600), other: limits(50, 200, 600) };
const PAID = { single: PAID_ENRICHMENT, batch: PAID_ENRICHMENT, other: limits(200, 400, 2_000) };
const ORGANIZATION = { ...PAID, other: limits(200, 600, 6_000) };
const PLANS = { free: FREE, basic: PAID, professional: PAID, organization: ORGANIZATION };

const POLL = 'api/v1/webhook_result/show';
const ROUTES: ReadonlyMap<string, Route> = new Map<string, Route>([
  ['api/v1/people/match', { method: 'POST', kind: 'single', perform: matchPerson }],
  ['api/v1/people/bulk_match', { method: 'POST', kind: 'batch', perform: matchPeople }],
  ['api/v1/organizations/enrich', { method: 'GET', kind: 'single', perform: enrichOrganization }],
  ['api/v1/organizations/bulk_enrich', { method: 'POST', kind: 'batch', perform: enrichOrganizations }],
  [POLL, { method: 'GET', kind: 'other', perform: (call, book, phones) => phones.poll(call.path.replace(/^.*\//, ''), book.now()) }],
]);

/** The three windows in the names of the headers. */
const HEADERS = [
  ['minute', 'minute'],
  ['hour', 'hourly'],
  ['day', '24-hour'],
] as const satisfies readonly (readonly [WindowName, string])[];

export function startApollo(options: ApolloOptions = {}): Promise<StandIn> {
  const phones = new ApolloPhones(options.phoneDelayMs ?? 10_000);
  return startStandIn(options, (book) => (call) => answer(call, book, options, phones));
}

function answer(call: StandInCall, book: StandInBook, { plan = 'professional', scope }: ApolloOptions, phones: ApolloPhones): StandInReply {
  const path = call.path.slice(1);
  const name = /^api\/v1\/webhook_result\/[^/]+$/.test(path) ? POLL : path;
  const route = ROUTES.get(name);
  if (route === undefined || route.method !== call.method) return { status: 404, body: { error: 'The endpoint does not exist' } };
  if (call.headers['x-api-key'] !== book.apiKey)
    return { status: 401, body: 'Invalid API key. See https://docs.apollo.io/reference/authentication for how to authenticate.' };
  if (scope !== undefined && !scope.includes(name)) return { status: 403, body: outOfScope(name) };
  const windows = book.windows(name, PLANS[plan][route.kind]);
  const full = windows.take(book.now());
  if (full !== null) return tooMany(name, full, windows, book.now());
  const reply = route.perform(call, book, phones);
  return { ...reply, headers: { ...headersOf(windows), ...reply.headers } };
}

function outOfScope(name: string): unknown {
  const remedy = 'Request an API key from your administrator that includes this endpoint in its configured scope.';
  return { error: `This API key is not authorized to access ${name}. ${remedy}`, error_code: 'API_INACCESSIBLE' };
}

function tooMany(name: string, full: WindowState, windows: FixedWindows, now: number): StandInReply {
  const upgrade = 'Please upgrade your plan from https://app.apollo.io/#/settings/plans/upgrade.';
  const message = `The maximum number of api calls allowed for ${name} is ${full.limit} times per ${full.name}. ${upgrade}`;
  const seconds = Math.ceil((full.resetsAt - now) / 1_000);
  return { status: 429, headers: { ...headersOf(windows), 'retry-after': String(seconds) }, body: { message } };
}

/** A window without a limit has an empty limit and no usage. */
function headersOf(windows: FixedWindows): Record<string, string> {
  const headers: Record<string, string> = {};
  const states = new Map(windows.states.map((state) => [state.name, state]));
  for (const [window, name] of HEADERS) {
    const state = states.get(window);
    headers[`x-rate-limit-${name}`] = state === undefined ? '' : String(state.limit);
    if (state === undefined) continue;
    headers[`x-${name}-usage`] = String(state.used);
    headers[`x-${name}-requests-left`] = String(state.left);
  }
  return headers;
}
