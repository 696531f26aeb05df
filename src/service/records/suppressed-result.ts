/** The verification result for an address whose owner was erased: only that. Pure. */
import { SCORE_VERSION } from '../../verification/score.ts';
import type { EmailVerification } from '../../verification/types.ts';
import { ServiceError } from '../http/problem.ts';

/** A result as answered. `email` is null if its owner was erased after the request, so that the address is no longer stored. */
export type AddressResult = Omit<EmailVerification, 'email'> & { readonly email: string | null };

/** The reason that refused requests about one person have too. */
export const SUPPRESSED_REASON = 'suppressed_person';

/** @param email as sent; null if it is no longer stored @param atMs time of the result, epoch milliseconds */
export function suppressedResult(email: string | null, atMs: number): AddressResult {
  return {
    email,
    normalized: null,
    result: 'unknown',
    reason: SUPPRESSED_REASON,
    confidence: 0,
    verified: false,
    flags: {
      disposable: false,
      relay: false,
      role: false,
      free: false,
      accept_all: null,
      mailbox_full: false,
      disabled: false,
      smtputf8: false,
    },
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

/** @param headers further headers of the answer, names in lower case */
export function suppressedPerson(headers: Record<string, string> = {}): ServiceError {
  return new ServiceError('suppressed_person', 'this person asked to be removed; nothing is kept about them', { headers });
}
