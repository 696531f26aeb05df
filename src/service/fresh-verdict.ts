/** A verdict on somebody's address that is asked for together with their record. */
import type { EvidenceSource } from '../verification/types.ts';
import type { ServiceContext } from './context.ts';
import { STATUS_OF } from './email-status.ts';
import { suppressedPerson } from './suppressed-result.ts';

export type Verifying = Pick<ServiceContext, 'verifier' | 'evidence' | 'directory'>;

/** How long it is waited for: shorter than clients wait as a rule. */
const VERIFY_MS = 20_000;
/** What a verdict that is known costs; `unknown` is free. */
export const VERDICT_CREDITS = 1;

/** The fields of a person record that a verdict replaces. */
export type FreshVerdict = Readonly<Record<'email_status' | 'verified' | 'email_confidence' | 'email_verified_at', unknown>>;

/** Null when it is `unknown`, so that what was known stays. @throws ServiceError when the person was erased while their server was asked */
export async function freshVerdict({ verifier, evidence, directory }: Verifying, email: string): Promise<FreshVerdict | null> {
  // What the record itself claims, good or bad, is what is to be looked at anew.
  const mails: EvidenceSource = { mailbox: (address) => evidence.mailbox(address).filter(({ kind }) => kind === 'delivered' || kind === 'bounced'), domain: (name) => evidence.domain(name) };
  const [found] = await verifier.verify([email], { mode: 'full', maxAgeS: null, timeoutMs: VERIFY_MS, evidence: mails });
  if (directory.isSuppressed({ emails: [email] })) throw suppressedPerson();
  const status = found === undefined ? null : STATUS_OF[found.result];
  return found === undefined || status === null ? null : { email_status: status, verified: found.verified, email_confidence: found.confidence, email_verified_at: found.verified_at };
}
