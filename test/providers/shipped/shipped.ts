/** Clients of the definitions that ship, and the answers that vendors' pages show. */
import { readFileSync } from 'node:fs';
import { RotatingKey } from '../../../src/client/rotating-key.ts';
import type { PendingAnswer, ProviderClient } from '../../../src/client/provider-client.ts';
import type { CallResult } from '../../../src/client/types.ts';
import type { CompiledProvider } from '../../../src/providers/compiled-provider.ts';
import { DeclaredClient } from '../../../src/providers/client/declared-client.ts';
import { compileProvider } from '../../../src/providers/definition/compile-provider.ts';
import { loadProvider } from '../../../src/providers/definition/load-provider.ts';
import { answer, bodyOf, serve } from '../../client/servers.ts';
import { cleanUp } from '../../support/clean-up.ts';
import { DEFAULT_API_KEY } from '../stand-ins/stand-in.ts';
import { personOf, type StandInPerson } from '../stand-ins/world.ts';

export type Step = 'enrich' | 'verify' | 'company' | 'reveal';
type Lookup = Readonly<Record<string, string>>;
type Result = CallResult<unknown> | PendingAnswer;
type Client = DeclaredClient & ProviderClient;

interface Recorded {
  readonly name: string;
  readonly operation: Step;
  readonly lookups: readonly Lookup[];
  /** Asks for an answer that was promised. */
  readonly ticket?: string;
  readonly response: { readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: unknown };
}

export async function shipped(name: string): Promise<CompiledProvider> {
  return compileProvider(await loadProvider(name));
}

export async function clientOf(name: string, baseUrl: string, key = DEFAULT_API_KEY): Promise<Client> {
  const provider = await shipped(name);
  const client = new DeclaredClient({ provider, baseUrl, apiKey: new RotatingKey(key), timeoutMs: 30_000, connections: 4 });
  cleanUp(() => client.destroy());
  return client;
}

/** The answers in `recorded/<vendor>.json`, by operation and name. */
export function recordedBy(vendor: string): ReadonlyMap<string, Recorded> {
  const text = readFileSync(`${import.meta.dirname}/../recorded/${vendor}.json`, 'utf8');
  return new Map((JSON.parse(text) as Recorded[]).map((one) => [`${one.operation}: ${one.name}`, one]));
}

const PLACEHOLDER: Lookup = { email: 'person@example.com', domain: 'example.com', name: 'Example Person' };

/** The results of the lookups of a recorded answer, or that of the request as a whole. @param definition that judges it */
export async function replay(definition: string, { operation, lookups, response, name, ticket }: Recorded): Promise<readonly Result[]> {
  const url = await serve(async (request, reply) => {
    const { body, status, headers } = response;
    const sent = await bodyOf(request);
    const text = typeof body === 'string' ? body : JSON.stringify(withMetadata(body, sent));
    answer(reply, { status, headers, body: text });
  });
  const client = await clientOf(definition, url);
  const asked = lookups.length === 0 ? [PLACEHOLDER] : lookups;
  return /\bbatch/.test(name) || asked.length > 1
    ? askTogether(client, operation, asked, ticket)
    : [await askOne(client, operation, asked[0] ?? {})];
}

/** The result of a 200 with this body, in words. */
export async function toldBy(definition: string, operation: Step, lookup: Lookup, body: unknown): Promise<string> {
  const [result] = await replay(definition, { name: '', operation, lookups: [lookup], response: { status: 200, headers: {}, body } });
  return result === undefined ? '' : inWords(result);
}

/** People Data Labs gives back the metadata of each entry, so that of the recorded requests must become ours. */
function withMetadata(body: unknown, sent: string): unknown {
  if (!Array.isArray(body)) return body;
  const { requests = [] } = JSON.parse(sent) as { requests?: readonly { metadata: unknown }[] };
  return body.map((item: object, index) => ('metadata' in item ? { ...item, metadata: requests[index]?.metadata } : item));
}

/** A lookup in the form that steps give it. */
function keyOf({ first_name: first, last_name: last, ...others }: Lookup): { email: string } {
  const name = first === undefined ? {} : { name: `${first} ${last}` };
  return { ...others, ...name } as unknown as { email: string };
}

export async function askOne(client: Client, step: Step, lookup: Lookup): Promise<Result> {
  switch (step) {
    case 'enrich':
      return client.callEnrich(client.enrichBody(keyOf(lookup)));
    case 'reveal':
      return client.callReveal(client.revealBody(keyOf(lookup)));
    case 'company':
      return client.callCompany(lookup['domain'] ?? '');
    case 'verify':
      return onlyVerdict(await client.callVerify(client.verifyBody([lookup['email'] ?? ''])));
    default:
      return step satisfies never;
  }
}

/** The result for one address, with its verdict as the value. */
function onlyVerdict(result: Awaited<ReturnType<Client['callVerify']>>): Result {
  return result.kind === 'ok' ? { ...result, value: [...result.value.byEmail.values()][0] ?? null } : result;
}

/** The results of a batch, one for each lookup, or that of the request as a whole. A lookup that is left out has none. */
export async function askTogether(client: Client, step: Step, lookups: readonly Lookup[], ticket?: string): Promise<readonly Result[]> {
  if (step === 'verify') {
    const emails = lookups.map(({ email = '' }) => email);
    const result = await client.callVerify(client.verifyBody(emails));
    if (result.kind !== 'ok') return [result];
    const verdicts = emails.map((email) => result.value.byEmail.get(email.toLowerCase()) ?? null);
    return verdicts.map((value, index) => ({ ...result, value, meta: { ...result.meta, credits: index === 0 ? result.meta.credits : 0 } }));
  }
  const bodies = lookups.map((lookup) => (step === 'company' ? (lookup['domain'] ?? '') : client.enrichBody(keyOf(lookup))));
  const result = await client.batches?.call(step, bodies, ticket === undefined ? {} : { ticket });
  if (result === undefined) throw new Error('the definition has no batch');
  if (result.kind !== 'ok') return [result];
  return result.value.map((item) => item ?? { kind: 'ok', value: null, meta: result.meta });
}

/** A result in a word or two: `match`, `miss`, `wait 30 s`, `refused not_found`. */
export function inWords(result: Result): string {
  switch (result.kind) {
    case 'ok':
      return result.value === null ? 'left out' : 'match';
    case 'miss':
    case 'suppressed':
    case 'pending':
    case 'wrong_address':
      return result.kind.replace('_', ' ');
    case 'throttled':
      return result.retryAfterMs === null ? 'wait' : `wait ${result.retryAfterMs / 1_000} s`;
    case 'denied':
      return result.code === 'out_of_credits' ? 'out of credits' : `denied ${result.code}`;
    case 'rejected':
      return `refused ${result.code}`;
    case 'retryable':
      return `retry ${result.code}`;
    default:
      return result satisfies never;
  }
}

/** The record of a match, or the verdict. */
export function recordOf(result: Result | undefined): unknown {
  if (result?.kind !== 'ok') throw new Error(`no match: ${JSON.stringify(result)}`);
  const value = result.value as { record?: unknown };
  return value.record ?? value;
}

/** The keys of a person of the stand-ins' world, by the names that definitions give them. */
export function keysOf(index: number): Readonly<Record<string, Lookup>> {
  const { email, linkedinUrl, phone, firstName, lastName, domain, company }: StandInPerson = personOf(index);
  const name = `${firstName} ${lastName}`.toLowerCase();
  return {
    email: { email },
    linkedin_url: { linkedin_url: linkedinUrl },
    phone: { phone },
    'name+domain': { name, domain },
    'name+company': { name, company: company.toLowerCase() },
    domain: { domain },
  };
}
