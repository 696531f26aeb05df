/** The verdict for one address, from a mapped record. Pure. */
import type { VerificationResult } from '../../client/types.ts';
import { emailKey, SUPPRESSED_PERSON } from '../../client/verify-answer.ts';
import { mailboxKey } from '../../verification/address.ts';
import type { MappedRecord } from './map-record.ts';
import { inWords, Refusal } from './refusal.ts';

/** The words that Millrace knows; a provider's other words are kept as they are. */
const KNOWN: ReadonlySet<string> = new Set(['deliverable', 'undeliverable', 'risky', 'unknown']);

/** @param asked the address that was asked for @throws Refusal `bad_shape` for a record without a verdict */
export function toVerdict(recordKey: string, record: MappedRecord, asked: string): VerificationResult {
  const { result, confidence, reason, email } = record;
  if (typeof result !== 'string' || result.trim() === '')
    throw new Refusal('bad_shape', `${recordKey}.result: expected text, got ${inWords(result)}`);
  if (typeof email === 'string' && emailKey(email) !== emailKey(asked) && (mailboxKey(email) ?? '') !== mailboxKey(asked))
    throw new Refusal('bad_shape', `${recordKey}.email: expected the address that was asked for, got another one`);
  const plain = result.trim().toLowerCase();
  return {
    ...record,
    email: typeof email === 'string' ? email : asked,
    result: KNOWN.has(plain) ? plain : result,
    confidence: typeof confidence === 'number' ? confidence : null,
    reason: typeof reason === 'string' ? reason : null,
  };
}

/** The verdict for an address whose person asked to be removed, among others in one request. */
export function suppressedVerdict(asked: string): VerificationResult {
  return { email: asked, result: 'unknown', confidence: null, reason: SUPPRESSED_PERSON };
}
