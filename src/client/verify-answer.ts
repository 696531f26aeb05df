/** The answer of /v1/emails/verify: verdicts by e-mail, from whichever form the service uses. Pure. */
import { withBodyId } from './answer.ts';
import { badBody } from './classify.ts';
import type { Answer } from './answer.ts';
import { mailboxKey } from '../verification/address.ts';
import { isObject } from '../util/is-object.ts';
import type { CallResult, VerificationResult } from './types.ts';

/** Verdicts by lower-cased e-mail. A requested address that is absent has no answer. */
export interface VerifyAnswer {
  readonly byEmail: ReadonlyMap<string, VerificationResult>;
}

/** The specification's own words, which are told apart from others whatever their case. */
const VERDICTS: ReadonlySet<string> = new Set(['deliverable', 'undeliverable', 'risky', 'unknown']);

/** The reason of a verdict that means the same as a 451. */
export const SUPPRESSED_PERSON = 'suppressed_person';

/** Whether a result among others means the same as a 451: the person asked to be removed. */
export function saysSuppressed({ reason }: VerificationResult): boolean {
  return reason === SUPPRESSED_PERSON;
}

/** The form under which e-mails are compared. */
export function emailKey(email: string): string {
  return email.trim().toLowerCase();
}

/**
 * Reads a 200. `body` is the request's own JSON. A list that leaves all of its e-mails out, or has no verdict for them, is an
 * answer all the same: the service is up and has nothing to say. Anything else that is about none of them is unreadable.
 */
export function readVerification(answer: Answer, body: string): CallResult<VerifyAnswer> {
  let json: unknown;
  try {
    json = JSON.parse(answer.text);
  } catch {
    return badBody(answer, answer.text.trim() === '' ? 'the answer is empty' : 'the answer is not JSON');
  }
  const entries = entriesOf(json);
  const byEmail = new Map<string, VerificationResult>();
  const contradicted = new Set<string>();
  for (const entry of entries) {
    const email = entry['email'];
    const result = verdictOf(entry);
    if (typeof email !== 'string' || result === null) continue;
    const key = emailKey(email);
    if (key === '') continue;
    // The first whole one wins; the position says nothing. Two verdicts that contradict each other do not count.
    const known = byEmail.get(key);
    if (known === undefined) byEmail.set(key, toResult(entry, email, result));
    else if (known.result !== result) contradicted.add(key);
  }
  for (const key of contradicted) byEmail.delete(key);
  const asked = new Set(askedFor(body).map(emailKey));
  findOtherSpellings(asked, byEmail, contradicted);
  const isAnswered = [...asked].some((email) => byEmail.has(email));
  if (!isAnswered && [...asked].some((email) => contradicted.has(email)))
    return badBody(answer, 'two results for one address contradict each other', 'bad_shape');
  return isListOfEmails(json) || isAbout(json, asked) || isAnswered
    ? { kind: 'ok', value: { byEmail }, meta: withBodyId(answer.meta, json) }
    : badBody(answer, 'the answer has no result for any of the addresses asked for');
}

/** Finds verdicts under another spelling of an address: its domain in Unicode, or without its tag. It must be the only one. */
function findOtherSpellings(asked: ReadonlySet<string>, byEmail: Map<string, VerificationResult>, contradicted: ReadonlySet<string>): void {
  const missing = [...asked].filter((email) => !byEmail.has(email) && !contradicted.has(email));
  if (missing.length === 0) return;
  const byMailbox = Map.groupBy(
    [...byEmail].filter(([email]) => !asked.has(email)),
    ([email]) => mailboxKey(email),
  );
  for (const [mailbox, emails] of Map.groupBy(missing, mailboxKey)) {
    const results = byMailbox.get(mailbox) ?? [];
    const [[, result]] = results.length === 1 ? results : [[null, null]];
    const [email] = emails;
    if (mailbox !== null && emails.length === 1 && email !== undefined && result !== null) byEmail.set(email, { ...result, email });
  }
}

/** Whether the answer is a list of e-mails, possibly empty: a service that sends it knows the question. */
function isListOfEmails(json: unknown): boolean {
  const list: unknown = isObject(json) ? [json['data'], json['results']].find(Array.isArray) : json;
  return Array.isArray(list) && list.every((entry) => isObject(entry) && typeof entry['email'] === 'string');
}

/** Whether the answer is a single entry for a requested e-mail, with a verdict or without: a service that sends it knows the question. */
function isAbout(json: unknown, asked: ReadonlySet<string>): boolean {
  const entry: unknown = isObject(json) ? ([json['data'], json['results']].find(isObject) ?? json) : undefined;
  return isObject(entry) && typeof entry['email'] === 'string' && asked.has(emailKey(entry['email']));
}

/** Under `data`, `results`, bare, or a single one. */
function entriesOf(json: unknown): readonly Readonly<Record<string, unknown>>[] {
  if (Array.isArray(json)) return json.filter(isObject);
  if (!isObject(json)) return [];
  for (const inner of [json['data'], json['results']]) {
    if (Array.isArray(inner)) return inner.filter(isObject);
    if (isObject(inner)) return [inner];
  }
  return [json];
}

function verdictOf(entry: Readonly<Record<string, unknown>>): string | null {
  for (const value of [entry['result'], entry['status']]) {
    if (typeof value !== 'string' || value.trim() === '') continue;
    const plain = value.trim().toLowerCase();
    return VERDICTS.has(plain) ? plain : value;
  }
  return null;
}

function rawConfidence(entry: Readonly<Record<string, unknown>>): number | null {
  for (const value of [entry['confidence'], entry['score']]) {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof number === 'number' && Number.isFinite(number)) return number;
  }
  return null;
}

/** The entry as it was sent, with the fields that everyone reads under one name and scale. */
function toResult(entry: Readonly<Record<string, unknown>>, email: string, result: string): VerificationResult {
  const confidence = percentOf(rawConfidence(entry), result);
  const reason = entry['reason'];
  return { ...entry, email, result, confidence, reason: typeof reason === 'string' && reason !== '' ? reason : null };
}

/**
 * A confidence as 0 to 100, by its own entry alone: with which others an address shares a request changes from run to run,
 * and its row must not. A fraction is a share of 1. A 1 is the whole where the verdict is sure of the mailbox, else one of 100.
 */
function percentOf(raw: number | null, result: string): number | null {
  if (raw === null || raw < 0 || raw > 100) return null;
  const isShare = raw < 1 || (raw === 1 && result === 'deliverable');
  // Rounded: 0.29 * 100 is not 29.
  return isShare ? Math.round(raw * 1e4) / 1e2 : raw;
}

function askedFor(body: string): readonly string[] {
  const json: unknown = JSON.parse(body);
  if (!isObject(json)) return [];
  const list = Array.isArray(json['emails']) ? (json['emails'] as readonly unknown[]) : [json['email']];
  return list.filter((email) => typeof email === 'string');
}
