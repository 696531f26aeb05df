/** The verification result of the service's definitions, and what the verifier is given. Types only. */
import type { RunSteps } from '../util/steps.ts';
import type { MailRoute } from './dns/mail-routes.ts';
import type { ListFindings } from './lists.ts';
import type { ScoreFactor } from './score.ts';
import type { MailboxAnswer } from './smtp/domain-progress.ts';

export type Verdict = 'deliverable' | 'undeliverable' | 'risky' | 'unknown';

/** How far the waterfall may go. `syntax`: syntax and lists, whatever the evidence says. */
export type VerifyMode = 'full' | 'dns' | 'syntax';

/** The operator's own data about a mailbox. `verified`, `found_dead`: an earlier check found it good, or missing, by whatever means. */
export interface MailboxEvidence {
  readonly kind: 'delivered' | 'verified' | 'bounced' | 'found_dead';
  /** When that was learnt, epoch milliseconds; null is not known. */
  readonly atMs: number | null;
}

/** Evidence that settles the answer. Epoch milliseconds. */
export interface HeldEvidence {
  readonly kind: MailboxEvidence['kind'];
  readonly atMs: number;
  /** How long it does: not before now. */
  readonly untilMs: number;
}

export interface DomainEvidence {
  readonly acceptsAll: boolean | null;
  /** Such as `{first}.{last}`; null is not known. */
  readonly emailPattern: string | null;
}

/** Where own evidence comes from; asked with normalised names, at most once an address. */
export interface EvidenceSource {
  /** At least the newest of each kind, in any order. */
  mailbox(email: string): readonly MailboxEvidence[];
  domain(domain: string): DomainEvidence | null;
}

export interface VerifyRequest {
  readonly mode: VerifyMode;
  /** Evidence older than this decides nothing, seconds; null for the usual limits only. */
  readonly maxAgeS: number | null;
  readonly evidence: EvidenceSource;
  /** A verdict that is not known by then is `unknown` / `pending`. */
  readonly timeoutMs: number;
  /** Shares the work on many addresses out. Without it that is done at once. */
  readonly run?: RunSteps;
}

type CheckName = 'syntax' | 'lists' | 'evidence' | 'dns' | 'smtp';

export interface Check {
  readonly name: CheckName;
  /** The finding: `valid`, `invalid`, `clear`, `delivered`, `hosts`, `accepted` and so on. */
  readonly result: string;
  readonly detail: string | null;
  readonly ms: number;
}

/** The findings of the stages about one address; null where a stage did not run. */
export interface Findings {
  readonly email: string;
  readonly syntax: 'valid' | 'literal' | 'invalid';
  /** The domain is reserved: nobody gets mail there, and DNS is not asked. */
  readonly reserved: boolean;
  /** The mail world is a sample, and does not know the domain. */
  readonly outOfSample: boolean;
  readonly normalised: string | null;
  /** The address for its mail host: the local part as spelled, the domain in A-labels. */
  readonly spelled: string | null;
  readonly local: string | null;
  readonly domain: string | null;
  readonly smtputf8: boolean;
  readonly lists: ListFindings;
  readonly mailbox: HeldEvidence | null;
  readonly company: DomainEvidence | null;
  readonly route: MailRoute | null;
  /** `off`: mail servers may not be asked from here. `not_asked`: this request did not want it. */
  readonly smtp: MailboxAnswer | 'off' | 'not_asked' | null;
  readonly acceptAll: boolean | null;
  /** Times that a mail server was asked before, and when to ask again, epoch milliseconds. */
  readonly askedBefore: number;
  readonly retryAtMs: number | null;
  readonly checks: readonly Check[];
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
    /** A forwarder or privacy relay: the mail is read elsewhere. */
    readonly relay: boolean;
    readonly role: boolean;
    readonly free: boolean;
    readonly accept_all: boolean | null;
    /** Whether a mail server says so. */
    readonly mailbox_full: boolean;
    readonly disabled: boolean;
    readonly smtputf8: boolean;
  };
  readonly did_you_mean: string | null;
  /** `registrable`: the registered part, by the public suffix list. */
  readonly domain: { readonly ascii: string | null; readonly unicode: string | null; readonly registrable: string | null };
  /** Null: DNS was not asked, or did not say. */
  readonly mx: {
    readonly found: boolean;
    /** The domain itself takes its mail, for want of MX records. */
    readonly implicit: boolean;
    readonly null_mx: boolean;
    readonly records: readonly { readonly preference: number; readonly host: string }[];
    readonly provider: string | null;
  } | null;
  /** null when no mail server was asked. */
  readonly smtp: {
    readonly stage: string;
    readonly host: string;
    readonly code: number | null;
    readonly enhanced_code: string | null;
    readonly message: string;
    readonly tls: boolean;
    readonly greylisted: boolean;
  } | null;
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
