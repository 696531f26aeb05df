/** POST /v1/emails/verify: up to 1,000 addresses in, a verdict for each, in the order in which they were sent; at once, or with `Prefer: respond-async` later. */
import { randomBytes } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { normaliseEmail } from '../../verification/address.ts';
import type { VerifyMode } from '../../verification/types.ts';
import { bookCall, bookCredits, isHead, JSON_TYPE, onUndo } from '../api-route.ts';
import type { Answer, Endpoint, ServiceContext } from '../context.ts';
import { ServiceError } from '../errors.ts';
import type { ActiveKey } from '../key-ring.ts';
import { MAX_EMAILS, VERIFY, VERIFY_BODY } from '../operations/verify.ts';
import { SUPPRESSED_REASON, suppressedPerson, suppressedResult, type AddressResult } from '../suppressed-result.ts';
import { BodyReader } from '../validate.ts';
import { summarise } from '../verification-summary.ts';
import { readWebhookUrl } from '../webhooks/url.ts';
import { isObject } from '../values.ts';
import type { JobState, VerificationJobs } from '../verification-jobs.ts';

/** Shorter than clients wait as a rule (30 s): late is better said than not said. */
const TIMEOUT_MS = 25_000;

type VerifyingAddresses = Pick<ServiceContext, 'evidence' | 'verifier' | 'directory' | 'now' | 'webhooks'>;

/** Of somebody who asked to be removed nothing is looked up: one alone is refused, among others a result of its own says it. */
export function verifyEndpoint(context: VerifyingAddresses, jobs: VerificationJobs): Endpoint {
  return async (body, request) => {
    const asked = readRequest(body, context.webhooks.isDevelopment);
    const removed = removedAmong(context, asked.emails);
    if (asked.single && removed.size > 0) throw suppressedPerson();
    if (wantsAsync(request) || asked.webhookUrl !== null) return begin(jobs, request, asked, [...removed].map((email) => suppressedResult(email, context.now())));
    return verifyNow(context, asked, removed);
  };
}

/** Verifies by one body, and waits for the results. @throws ServiceError */
export function verifyOnce(context: VerifyingAddresses, body: unknown): Promise<Answer> {
  const asked = readRequest(body, context.webhooks.isDevelopment);
  return verifyNow(context, asked, removedAmong(context, asked.emails));
}

async function verifyNow(context: VerifyingAddresses, asked: Asked, removed: ReadonlySet<string>): Promise<Answer> {
  const data = await verifyAll(context, asked, removed);
  return { status: 200, text: resultText(data, asked.single), credits: creditsFor(data), named: { emails: asked.emails } };
}

/** A result for each address, in order. @param removed of whom nothing is looked up @throws ServiceError when there is no room for so many */
export async function verifyAll(context: VerifyingAddresses, { emails, mode, maxAgeS, timeoutMs }: Omit<Asked, 'single'>, removed: ReadonlySet<string> = removedAmong(context, emails)): Promise<AddressResult[]> {
  const { evidence, verifier, now } = context;
  const found = await verifier.verify(emails.filter((email) => !removed.has(email)), { mode, maxAgeS, timeoutMs: timeoutMs ?? TIMEOUT_MS, evidence });
  const byEmail = new Map(found.map((result) => [result.email, result]));
  // Who was erased while they were asked about is so for this answer, too, and is not named by it any more.
  const erased = removedAmong(context, emails);
  return emails.map((email) => (removed.has(email) ? suppressedResult(email, now()) : (erased.has(email) ? null : byEmail.get(email)) ?? suppressedResult(null, now())));
}

/** Whose owners asked to be removed. */
function removedAmong({ directory }: Pick<ServiceContext, 'directory'>, emails: readonly string[]): ReadonlySet<string> {
  const isSuppressed = (given: string): boolean => {
    const email = normaliseEmail(given);
    return email !== null && directory.isSuppressed({ emails: [email] });
  };
  return new Set(emails.filter(isSuppressed));
}

/** GET /v1/emails/verify/{id}: 202 while it is under way; then the answer that the POST would have given, which is paid for when it is first fetched. */
export function pollVerification(context: ServiceContext, jobs: VerificationJobs): (request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  return (request, reply) => {
    const key = request.call.key as ActiveKey;
    const { id } = request.params as { id: string };
    const state = jobs.find(id, key.id);
    if (state === null) throw new ServiceError('not_found', 'there is no asynchronous verification of this id; they are kept for 24 hours');
    bookCall(context, request);
    if (state.kind === 'in_progress') {
      const { text, headers } = progress(id, state);
      return reply.code(202).headers(headers).header('content-type', JSON_TYPE).send(text);
    }
    const text = resultText(state.results, id.startsWith(SINGLE));
    bookCredits(context, request, state.paid || isHead(request) ? 0 : creditsFor(state.results));
    if (!state.paid && !isHead(request)) {
      jobs.markPaid(id, true);
      onUndo(request.call, () => jobs.markPaid(id, false));
    }
    return reply.code(200).header('content-type', JSON_TYPE).send(text);
  };
}

/** What an id begins with says in which form the results are given. */
const SINGLE = 'ver1_';
const MANY = 'ver_';

/** RFC 7240 4.1: preferences stand between commas, each with a value and parameters or without. */
function wantsAsync({ headers }: FastifyRequest): boolean {
  return [headers['prefer'] ?? []].flat().some((line) => line.split(',').some((preference) => preference.split(/[;=]/, 1)[0]?.trim().toLowerCase() === 'respond-async'));
}

/** @param known results that are there already */
function begin(jobs: VerificationJobs, request: FastifyRequest, { single, ...asked }: Asked, known: readonly AddressResult[]): Answer {
  const { call } = request;
  const id = `${single ? SINGLE : MANY}${randomBytes(16).toString('hex')}`;
  jobs.begin(id, (call.key as ActiveKey).id, asked, known);
  call.owing = true;
  onUndo(call, () => jobs.drop(id));
  const { text, headers: more } = progress(id, { kind: 'in_progress', total: new Set(asked.emails).size, settled: known.length, nextMs: 1_000 });
  return { status: 202, text, credits: 0, headers: { ...more, ...(wantsAsync(request) ? { 'preference-applied': 'respond-async' } : {}) } };
}

function progress(id: string, { total, settled, nextMs }: JobState & { kind: 'in_progress' }): { text: string; headers: Record<string, string> } {
  const location = `${VERIFY.path}/${id}`;
  return {
    text: JSON.stringify({ id, status: 'in_progress', location, total, settled }),
    headers: { location, 'retry-after': String(Math.ceil(nextMs / 1_000)) },
  };
}

/** @throws ServiceError for one address alone whose owner asked to be removed */
function resultText(data: readonly AddressResult[], single: boolean): string {
  if (single && data[0]?.reason === SUPPRESSED_REASON) throw suppressedPerson();
  return single ? JSON.stringify(data[0]) : JSON.stringify({ data, summary: summarise(data) });
}

interface Asked {
  readonly emails: readonly string[];
  readonly single: boolean;
  readonly mode: VerifyMode;
  readonly maxAgeS: number | null;
  readonly timeoutMs: number | null;
  readonly webhookUrl: string | null;
}

function readRequest(body: unknown, isDevelopment: boolean): Asked {
  const reader = new BodyReader(body, VERIFY_BODY);
  const { emails: sent } = isObject(body) ? body : {};
  if (Array.isArray(sent) && sent.length > MAX_EMAILS) {
    const detail = `at most ${MAX_EMAILS} emails in one request, not ${sent.length}`;
    throw new ServiceError('too_many_emails', detail, { errors: [{ pointer: '/emails', code: 'too_many', detail }] });
  }
  const emails = reader.get('emails');
  const one = reader.get('email');
  if (reader.has('emails') && reader.has('email')) reader.fail('/email', 'ambiguous', 'give emails or email, not both');
  else if (!reader.has('emails') && !reader.has('email')) reader.fail('', 'required', 'nothing to verify: give emails (an array) or email');
  const webhookUrl = readWebhookUrl(reader, isDevelopment);
  const mode = reader.get('mode') ?? 'full';
  const timeoutMs = reader.get('timeout_ms');
  const maxAgeS = reader.get('max_age_s');
  reader.finish();
  return { emails: emails ?? [one ?? ''], single: emails === null, mode, maxAgeS, timeoutMs, webhookUrl };
}

/** One credit for each different mailbox that got an answer; `unknown` is free. */
function creditsFor(results: Iterable<AddressResult>): number {
  const paid = new Set<string>();
  for (const result of results) verdictCredits(result, paid);
  return paid.size;
}

/** What one result costs besides those in `paid`, which it joins: mailboxes that are paid for. */
export function verdictCredits({ result, normalized, email }: AddressResult, paid: Set<string>): 0 | 1 {
  const mailbox = normalized ?? email;
  if (result === 'unknown' || email === null || mailbox === null || paid.has(mailbox)) return 0;
  paid.add(mailbox);
  return 1;
}
