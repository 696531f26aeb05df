/** Turns the findings of the stages into the result that is sent. Pure. */
import { domainToUnicode } from 'node:url';
import { providerOf } from './dns/provider.ts';
import { fitsPattern } from './pattern.ts';
import { registrableDomain } from './registrable.ts';
import { score, SCORE_VERSION } from './score.ts';
import type { EmailVerification, Findings } from './types.ts';
import { toJudgement } from './verdict.ts';

/** An answer of a mail server is current for 30 days, because people leave. */
const ANSWER_CURRENT_MS = 30 * 86_400_000;

/** @param nowMs epoch milliseconds. */
export function compose(found: Findings, nowMs: number): EmailVerification {
  const { lists, mailbox, domain, local, route } = found;
  const { result, reason, outcome } = toJudgement(found);
  const asked = typeof found.smtp === 'object' ? found.smtp : null;
  const { confidence, factors } = score({
    outcome,
    acceptAll: found.acceptAll,
    disposable: lists.disposable,
    suspectedDisposable: lists.suspectedDisposable,
    role: lists.role,
    probableTypo: lists.didYouMean !== null,
    implicitMx: route?.kind === 'hosts' && route.implicit,
    fitsPattern: local !== null && fitsPattern(local, found.company?.emailPattern ?? null),
    deliveredIn90Days: mailbox?.kind === 'delivered',
  });
  const currentMs =
    mailbox !== null ? mailbox.untilMs : asked !== null && asked.code !== null && result !== 'unknown' ? nowMs + ANSWER_CURRENT_MS : null;
  return {
    email: found.email,
    normalized: found.normalised,
    result,
    reason,
    confidence,
    verified: result === 'deliverable',
    flags: {
      disposable: lists.disposable,
      relay: lists.relay,
      role: lists.role,
      free: lists.free,
      accept_all: found.acceptAll,
      mailbox_full: asked?.meaning === 'mailbox_full',
      disabled: asked?.meaning === 'mailbox_disabled',
      smtputf8: found.smtputf8,
    },
    did_you_mean: lists.didYouMean,
    domain: {
      ascii: domain,
      unicode: domain === null ? null : toUnicode(domain),
      registrable: domain === null ? null : registrableDomain(domain),
    },
    mx: toMx(found),
    smtp: toSmtp(found),
    checks: found.checks,
    score_factors: factors,
    score_version: SCORE_VERSION,
    attempts: found.askedBefore + (asked?.attempts ?? 0),
    retry_at: found.retryAtMs === null ? null : isoTime(found.retryAtMs),
    verified_at: isoTime(mailbox?.atMs ?? nowMs),
    expires_at: currentMs === null ? null : isoTime(currentMs),
    cached: mailbox !== null,
  };
}

function toMx({ route }: Findings): EmailVerification['mx'] {
  if (route === null || route.kind === 'failed') return null;
  const records =
    route.kind === 'hosts' || route.kind === 'no_mail_host' ? route.records.map(({ preference, host }) => ({ preference, host })) : [];
  const [first] = route.kind === 'hosts' ? route.hosts : [];
  return {
    found: route.kind === 'hosts',
    implicit: route.kind === 'hosts' && route.implicit,
    null_mx: route.kind === 'null_mx',
    records,
    provider: first === undefined ? null : providerOf(first.name),
  };
}

function toSmtp({ smtp }: Findings): EmailVerification['smtp'] {
  if (smtp === null || typeof smtp === 'string' || smtp.attempts === 0 || smtp.meaning === 'blocked') return null;
  const { stage, host, code, enhanced, message, tls, meaning } = smtp;
  return { stage, host, code, enhanced_code: enhanced, message, tls, greylisted: meaning === 'try_later' };
}

function toUnicode(domain: string): string {
  return domain.includes('xn--') ? domainToUnicode(domain) : domain;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
