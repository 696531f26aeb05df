/** POST /v1/emails/verify: up to 1,000 addresses in, a verdict for each, in the order in which they were sent. */
import type { EmailVerification, Verdict, VerifyMode } from '../../verification/types.ts';
import type { Endpoint, ServiceContext } from '../context.ts';
import { ServiceError } from '../errors.ts';
import { BodyReader } from '../validate.ts';

/** The specification's limit. */
export const MAX_EMAILS = 1_000;
const MODES: readonly VerifyMode[] = ['full', 'dns', 'syntax'];
const MAX_TIMEOUT_MS = 600_000;
/** Shorter than clients wait as a rule (30 s): late is better said than not said. */
const TIMEOUT_MS = 25_000;
/** Ten years: evidence older than that was never recorded. */
const MAX_AGE_S = 315_360_000;
const FIELDS = ['emails', 'email', 'mode', 'timeout_ms', 'max_age_s'];

export function verifyEndpoint({ directory, verifier }: Pick<ServiceContext, 'directory' | 'verifier'>): Endpoint {
  return async (body) => {
    const { emails, single, mode, maxAgeS, timeoutMs } = readRequest(body);
    const data = await verifier.verify(emails, { mode, maxAgeS, timeoutMs, evidence: directory });
    const text = single ? JSON.stringify(data[0]) : JSON.stringify({ data, summary: summarise(data) });
    return { status: 200, text, credits: creditsFor(data), again: false };
  };
}

interface Asked {
  readonly emails: readonly string[];
  readonly single: boolean;
  readonly mode: VerifyMode;
  readonly maxAgeS: number | null;
  readonly timeoutMs: number;
}

function readRequest(body: unknown): Asked {
  const reader = new BodyReader(body, FIELDS);
  const many = reader.array('emails');
  if (many !== null && many.length > MAX_EMAILS) {
    const detail = `at most ${MAX_EMAILS} emails in one request, not ${many.length}`;
    throw new ServiceError('too_many_emails', detail, { errors: [{ pointer: '/emails', code: 'too_many', detail }] });
  }
  const one = reader.string('email');
  if (reader.has('emails') && reader.has('email')) reader.fail('/email', 'ambiguous', 'give emails or email, not both');
  else if (!reader.has('emails') && !reader.has('email')) reader.fail('', 'required', 'nothing to verify: give emails (an array) or email');
  else if (many?.length === 0) reader.fail('/emails', 'too_few', 'emails is empty; give at least one');
  const emails = many === null ? null : reader.strings('emails');
  const mode = reader.oneOf('mode', MODES) ?? 'full';
  const timeoutMs = reader.integer('timeout_ms', 1, MAX_TIMEOUT_MS) ?? TIMEOUT_MS;
  const maxAgeS = reader.integer('max_age_s', 0, MAX_AGE_S);
  reader.finish();
  return { emails: emails ?? [one ?? ''], single: emails === null, mode, maxAgeS, timeoutMs };
}

function summarise(results: readonly EmailVerification[]): Record<Verdict, number> {
  const summary: Record<Verdict, number> = { deliverable: 0, undeliverable: 0, risky: 0, unknown: 0 };
  for (const { result } of results) summary[result]++;
  return summary;
}

/** One credit for each different mailbox that got an answer; `unknown` is free. */
function creditsFor(results: Iterable<EmailVerification>): number {
  const paid = new Set<string>();
  for (const { result, normalized, email } of results) if (result !== 'unknown') paid.add(normalized ?? email);
  return paid.size;
}
