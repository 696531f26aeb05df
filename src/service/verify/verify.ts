/** Use case: verifies up to 1,000 addresses. A verdict for each, in the order in which they were sent. */
import { normaliseEmail } from '../../verification/address.ts';
import type { EvidenceSource, VerifyMode } from '../../verification/types.ts';
import type { EndpointAnswer } from '../calls/endpoint.ts';
import type { VerifyGate } from '../guards/verify-gate.ts';
import type { Directory } from '../store/directory.ts';
import type { Webhooks } from '../webhooks/webhooks.ts';
import { ServiceError } from '../http/problem.ts';
import { MAX_EMAILS, VERIFY_BODY } from './verify-operations.ts';
import { SUPPRESSED_REASON, suppressedPerson, suppressedResult, type AddressResult } from '../records/suppressed-result.ts';
import { BodyReader } from '../http/body-reader.ts';
import { summarise } from './verification-summary.ts';
import { readWebhookUrl } from '../webhooks/url.ts';
import { isObject } from '../../util/is-object.ts';
import { atOnce, type RunSteps, type Steps } from '../../util/steps.ts';

/** Below the usual timeout of clients, 30 s: an `unknown` in time is worth more than a broken connection. */
const TIMEOUT_MS = 25_000;
/** Work of looking whether one address is suppressed. */
const SUPPRESSED_UNITS = 1;

export interface VerifyDependencies {
  readonly verifier: Pick<VerifyGate, 'verify'>;
  /** Evidence of the store about addresses. */
  readonly evidence: EvidenceSource;
  readonly directory: Directory;
  /** Epoch milliseconds. */
  readonly now: () => number;
  readonly webhooks: Pick<Webhooks, 'isDevelopment'>;
}

/** Verifies by one body, and waits for the results. @throws ServiceError */
export async function verifyOnce(dependencies: VerifyDependencies, body: unknown): Promise<EndpointAnswer> {
  const asked = readVerifyRequest(body, dependencies.webhooks.isDevelopment);
  return await verifyNow(dependencies, asked, await atOnce(removedAmong(dependencies, asked.emails)), atOnce);
}

/** @param run shares the work out */
export async function verifyNow(
  dependencies: VerifyDependencies,
  asked: VerificationAsked,
  removed: ReadonlySet<string>,
  run: RunSteps,
): Promise<EndpointAnswer> {
  const data = await verifyAll(dependencies, asked, removed, run);
  return { status: 200, text: resultText(data, asked.single), credits: creditsFor(data), named: { emails: asked.emails } };
}

/**
 * A result for each address, in order.
 * @param known people who asked to be removed: their addresses are not looked up; null when they were not looked for yet
 * @param run shares the work out
 * @throws ServiceError when too many addresses are in progress
 */
export async function verifyAll(
  dependencies: VerifyDependencies,
  { emails, mode, maxAgeS, timeoutMs }: Omit<VerificationAsked, 'single'>,
  known: ReadonlySet<string> | null,
  run: RunSteps,
): Promise<AddressResult[]> {
  const { evidence, verifier, now } = dependencies;
  const removed = known ?? (await run(removedAmong(dependencies, emails)));
  const found = await verifier.verify(
    emails.filter((email) => !removed.has(email)),
    { mode, maxAgeS, timeoutMs: timeoutMs ?? TIMEOUT_MS, evidence, run },
  );
  const byEmail = new Map(found.map((result) => [result.email, result]));
  // A person may be erased while mail servers are asked: this answer does not name them either.
  const erased = await run(removedAmong(dependencies, emails));
  return emails.map((email) =>
    removed.has(email)
      ? suppressedResult(email, now())
      : ((erased.has(email) ? null : byEmail.get(email)) ?? suppressedResult(null, now())),
  );
}

/** Addresses whose owners asked to be removed. */
export function* removedAmong({ directory }: Pick<VerifyDependencies, 'directory'>, emails: readonly string[]): Steps<ReadonlySet<string>> {
  const removed = new Set<string>();
  for (const given of emails) {
    const email = normaliseEmail(given);
    if (email !== null && directory.isSuppressed({ emails: [email] })) removed.add(given);
    yield SUPPRESSED_UNITS;
  }
  return removed;
}

/** @throws ServiceError for one address alone whose owner asked to be removed */
export function resultText(data: readonly AddressResult[], single: boolean): string {
  if (single && data[0]?.reason === SUPPRESSED_REASON) throw suppressedPerson();
  return single ? JSON.stringify(data[0]) : JSON.stringify({ data, summary: summarise(data) });
}

export interface VerificationAsked {
  readonly emails: readonly string[];
  readonly single: boolean;
  readonly mode: VerifyMode;
  readonly maxAgeS: number | null;
  readonly timeoutMs: number | null;
  readonly webhookUrl: string | null;
}

export function readVerifyRequest(body: unknown, isDevelopment: boolean): VerificationAsked {
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
export function creditsFor(results: Iterable<AddressResult>): number {
  const paid = new Set<string>();
  for (const result of results) verdictCredits(result, paid);
  return paid.size;
}

/** The cost of one result. @param paid mailboxes that are paid for; this one joins them */
export function verdictCredits({ result, normalized, email }: AddressResult, paid: Set<string>): 0 | 1 {
  const mailbox = normalized ?? email;
  if (result === 'unknown' || email === null || mailbox === null || paid.has(mailbox)) return 0;
  paid.add(mailbox);
  return 1;
}
