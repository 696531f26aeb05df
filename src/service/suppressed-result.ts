/** What a verification says of an address whose owner asked to be removed: that, and nothing else. Pure. */
import { SCORE_VERSION } from '../verification/score.ts';
import type { EmailVerification } from '../verification/types.ts';
import { ServiceError } from './errors.ts';

/** A result as it is answered. `email` null: of somebody who was erased after they were asked about, so that their address is not known any more. */
export type AddressResult = Omit<EmailVerification, 'email'> & { readonly email: string | null };

/** The same word as in the refusal of a request about one person. */
export const SUPPRESSED_REASON = 'suppressed_person';

/** @param email as it was sent, or null where it is not kept. @param atMs of when this is, epoch milliseconds */
export function suppressedResult(email: string | null, atMs: number): AddressResult {
  return {
    email,
    normalized: null,
    result: 'unknown',
    reason: SUPPRESSED_REASON,
    confidence: 0,
    verified: false,
    flags: { disposable: false, relay: false, role: false, free: false, accept_all: null, mailbox_full: false, disabled: false, smtputf8: false },
    did_you_mean: null,
    domain: { ascii: null, unicode: null, registrable: null },
    mx: null,
    smtp: null,
    checks: [],
    score_factors: [],
    score_version: SCORE_VERSION,
    attempts: 0,
    retry_at: null,
    verified_at: new Date(atMs).toISOString(),
    expires_at: null,
    cached: false,
  };
}

/** @param headers further ones of the answer, names in lower case */
export function suppressedPerson(headers: Record<string, string> = {}): ServiceError {
  return new ServiceError('suppressed_person', 'this person asked to be removed; nothing is kept about them', { headers });
}
