/** The verification result of the service's definitions, and what the verifier is given. Types only. */
import type { ScoreFactor } from './score.ts';

export type Verdict = 'deliverable' | 'undeliverable' | 'risky' | 'unknown';

/** How far the waterfall may go. `syntax`: syntax and lists, whatever the evidence says. */
export type VerifyMode = 'full' | 'dns' | 'syntax';

/** What the operator's own data says about a mailbox. */
export interface MailboxEvidence {
  readonly kind: 'delivered' | 'bounced';
  /** When that was learnt, epoch milliseconds; null is not known. */
  readonly atMs: number | null;
}

export interface DomainEvidence {
  readonly acceptsAll: boolean | null;
  /** Such as `{first}.{last}`; null is not known. */
  readonly emailPattern: string | null;
}

/** Where own evidence comes from; asked with normalised names, at most once an address. */
export interface EvidenceSource {
  mailbox(email: string): MailboxEvidence | null;
  domain(domain: string): DomainEvidence | null;
}

export interface VerifyOptions {
  readonly mode: VerifyMode;
  /** Evidence older than this many seconds is left out; null: any age will do. */
  readonly maxAgeS: number | null;
  readonly evidence: EvidenceSource;
  /** Epoch milliseconds. */
  readonly nowMs: number;
  /** A monotonic clock in milliseconds, for how long each check took. */
  readonly clock: () => number;
}

export type CheckName = 'syntax' | 'lists' | 'evidence';

export interface Check {
  readonly name: CheckName;
  /** What it found: `valid`, `invalid`, `clear`, `delivered` and so on. */
  readonly result: string;
  readonly detail: string | null;
  readonly ms: number;
}

export interface EmailVerification {
  readonly email: string;
  readonly normalized: string | null;
  readonly result: Verdict;
  readonly reason: string;
  readonly confidence: number;
  readonly verified: boolean;
  readonly flags: {
    readonly disposable: boolean;
    readonly role: boolean;
    readonly free: boolean;
    readonly accept_all: boolean | null;
    readonly mailbox_full: boolean | null;
    readonly disabled: boolean | null;
    readonly smtputf8: boolean;
  };
  readonly did_you_mean: string | null;
  /** `registrable`: the part that somebody registered, by the public suffix list. */
  readonly domain: { readonly ascii: string | null; readonly unicode: string | null; readonly registrable: string | null };
  /** No DNS was asked. */
  readonly mx: null;
  /** No mail server was asked. */
  readonly smtp: null;
  readonly checks: readonly Check[];
  /** Their points sum to `confidence`. */
  readonly score_factors: readonly ScoreFactor[];
  readonly score_version: number;
  /** Conversations with mail servers. */
  readonly attempts: number;
  readonly retry_at: string | null;
  readonly verified_at: string;
  readonly expires_at: string | null;
  /** The verdict rests on something learnt earlier. */
  readonly cached: boolean;
}
