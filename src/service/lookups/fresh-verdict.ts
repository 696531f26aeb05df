/** A fresh verdict on a person's address, asked for together with their record. */
import type { EvidenceSource } from '../../verification/types.ts';
import type { VerifyGate } from '../guards/verify-gate.ts';
import { STATUS_OF } from '../records/email-status.ts';
import { suppressedPerson } from '../records/suppressed-result.ts';
import type { Directory } from '../store/directory.ts';

export interface FreshVerdictDependencies {
  readonly verifier: Pick<VerifyGate, 'verify'>;
  /** Evidence of the store about addresses. */
  readonly evidence: EvidenceSource;
  readonly directory: Directory;
}

/** Below the usual timeout of clients. */
const VERIFY_MS = 20_000;
/** The cost of a verdict; `unknown` is free. */
export const VERDICT_CREDITS = 1;

/** The fields of a person record that a verdict replaces. */
type FreshVerdict = Readonly<Record<'email_status' | 'verified' | 'email_confidence' | 'email_verified_at', unknown>>;

/** Null when it is `unknown`, so that what was known stays. @throws ServiceError when the person was erased while their server was asked */
export async function freshVerdict(
  { verifier, evidence, directory }: FreshVerdictDependencies,
  email: string,
): Promise<FreshVerdict | null> {
  // The claim of the record itself is not evidence: it is to be checked.
  const mails: EvidenceSource = {
    mailbox: (address) => evidence.mailbox(address).filter(({ kind }) => kind === 'delivered' || kind === 'bounced'),
    domain: (name) => evidence.domain(name),
  };
  const [found] = await verifier.verify([email], { mode: 'full', maxAgeS: null, timeoutMs: VERIFY_MS, evidence: mails });
  if (directory.isSuppressed({ emails: [email] })) throw suppressedPerson();
  const status = found === undefined ? null : STATUS_OF[found.result];
  return found === undefined || status === null
    ? null
    : { email_status: status, verified: found.verified, email_confidence: found.confidence, email_verified_at: found.verified_at };
}
