/**
 * The waterfall as far as it goes without a network: syntax, lists, own evidence. `checks` says which stages ran;
 * neither DNS nor a mail server is asked, so `mx` and `smtp` are null and most strangers stay `unknown`. Pure.
 */
import { domainToUnicode } from 'node:url';
import { lookUpLists, type ListFindings } from './lists.ts';
import { fitsPattern } from './pattern.ts';
import { registrableDomain } from './registrable.ts';
import { score, SCORE_VERSION, type ScoreOutcome } from './score.ts';
import { checkSyntax } from './syntax.ts';
import type { Check, DomainEvidence, EmailVerification, MailboxEvidence, Verdict, VerifyOptions } from './types.ts';

const DAY_MS = 86_400_000;
/** How long a delivery counts as recent, and a verdict from evidence as current. */
const EVIDENCE_CURRENT_MS = 90 * DAY_MS;

const NO_LISTS: ListFindings = { disposable: false, suspectedDisposable: false, role: false, free: false, didYouMean: null };

interface Findings {
  readonly normalised: string | null;
  readonly domain: string | null;
  readonly smtputf8: boolean;
  readonly lists: ListFindings;
  readonly mailbox: MailboxEvidence | null;
  readonly acceptAll: boolean | null;
  readonly fitsPattern: boolean;
}

const NOTHING: Findings = { normalised: null, domain: null, smtputf8: false, lists: NO_LISTS, mailbox: null, acceptAll: null, fitsPattern: false };

/** Verifies one address as it was sent. A bad address is a result, never an error. */
export function verifyEmail(email: string, options: VerifyOptions): EmailVerification {
  const { clock } = options;
  const checks: Check[] = [];
  let at = clock();
  const note = (name: Check['name'], result: string, detail: string | null): void => {
    const now = clock();
    checks.push({ name, result, detail, ms: Math.round((now - at) * 1000) / 1000 });
    at = now;
  };

  const syntax = checkSyntax(email);
  if (syntax.kind === 'invalid') {
    note('syntax', 'invalid', syntax.detail);
    return compose(email, { ...NOTHING, lists: { ...NO_LISTS, didYouMean: syntax.meant } }, 'undeliverable', 'invalid_syntax', 'undeliverable', checks, options);
  }
  if (syntax.kind === 'literal') {
    note('syntax', 'valid', 'the domain is an address literal');
    return compose(email, { ...NOTHING, normalised: syntax.normalised, smtputf8: syntax.smtputf8 }, 'unknown', 'address_literal', 'not_checked', checks, options);
  }
  note('syntax', 'valid', null);

  const lists = lookUpLists(syntax.local, syntax.domain);
  note('lists', listsResult(lists), null);

  let mailbox: MailboxEvidence | null = null;
  let company: DomainEvidence | null = null;
  if (options.mode !== 'syntax') {
    mailbox = currentEnough(options.evidence.mailbox(syntax.normalised), options);
    company = options.evidence.domain(syntax.domain);
    note('evidence', mailbox === null ? 'none' : mailbox.kind, mailbox === null || mailbox.atMs === null ? null : isoDate(mailbox.atMs));
  }
  const findings: Findings = {
    normalised: syntax.normalised,
    domain: syntax.domain,
    smtputf8: syntax.smtputf8,
    lists,
    mailbox,
    acceptAll: company?.acceptsAll ?? null,
    fitsPattern: company !== null && fitsPattern(syntax.local, company.emailPattern),
  };
  // What really happened to mail outranks what a name looks like.
  if (mailbox?.kind === 'delivered') return compose(email, findings, 'deliverable', 'recorded_delivery', 'accepted', checks, options);
  if (mailbox?.kind === 'bounced') return compose(email, findings, 'undeliverable', 'recorded_bounce', 'undeliverable', checks, options);
  if (lists.disposable) return compose(email, findings, 'risky', 'disposable', 'not_checked', checks, options);
  if (lists.didYouMean !== null) return compose(email, findings, 'risky', 'possible_typo', 'not_checked', checks, options);
  return compose(email, findings, 'unknown', 'not_checked', 'not_checked', checks, options);
}

function compose(
  email: string,
  found: Findings,
  result: Verdict,
  reason: string,
  outcome: ScoreOutcome,
  checks: readonly Check[],
  options: VerifyOptions,
): EmailVerification {
  const { lists, mailbox, domain } = found;
  const learntMs = mailbox?.atMs ?? null;
  const { confidence, factors } = score({
    outcome,
    acceptAll: found.acceptAll,
    disposable: lists.disposable,
    suspectedDisposable: lists.suspectedDisposable,
    role: lists.role,
    probableTypo: lists.didYouMean !== null,
    implicitMx: false,
    fitsPattern: found.fitsPattern,
    deliveredIn90Days: mailbox?.kind === 'delivered' && learntMs !== null && options.nowMs - learntMs <= EVIDENCE_CURRENT_MS,
  });
  return {
    email,
    normalized: found.normalised,
    result,
    reason,
    confidence,
    verified: result === 'deliverable',
    flags: {
      disposable: lists.disposable,
      role: lists.role,
      free: lists.free,
      accept_all: found.acceptAll,
      mailbox_full: null,
      disabled: null,
      smtputf8: found.smtputf8,
    },
    did_you_mean: lists.didYouMean,
    domain: { ascii: domain, unicode: domain === null ? null : toUnicode(domain), registrable: domain === null ? null : registrableDomain(domain) },
    mx: null,
    smtp: null,
    checks,
    score_factors: factors,
    score_version: SCORE_VERSION,
    attempts: 0,
    retry_at: null,
    verified_at: isoTime(learntMs ?? options.nowMs),
    expires_at: learntMs === null ? null : isoTime(learntMs + EVIDENCE_CURRENT_MS),
    cached: mailbox !== null,
  };
}

function currentEnough(evidence: MailboxEvidence | null, { maxAgeS, nowMs }: VerifyOptions): MailboxEvidence | null {
  if (evidence === null || maxAgeS === null) return evidence;
  return evidence.atMs !== null && nowMs - evidence.atMs <= maxAgeS * 1000 ? evidence : null;
}

function listsResult({ disposable, suspectedDisposable, didYouMean, role, free }: ListFindings): string {
  if (disposable) return 'disposable';
  if (didYouMean !== null) return 'possible_typo';
  if (suspectedDisposable) return 'suspected_disposable';
  if (role) return 'role';
  return free ? 'free' : 'clear';
}

function toUnicode(domain: string): string {
  return domain.includes('xn--') ? domainToUnicode(domain) : domain;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

function isoDate(ms: number): string {
  return isoTime(ms).slice(0, 10);
}
