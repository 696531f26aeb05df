/** Turns the findings of the stages into the verdict and its reason. Pure. */
import type { ScoreOutcome } from './score.ts';
import type { MailboxAnswer } from './smtp/domain-progress.ts';
import type { Findings, Verdict } from './types.ts';

interface Judgement {
  readonly result: Verdict;
  readonly reason: string;
  readonly outcome: ScoreOutcome;
}

const judge = (result: Verdict, reason: string, outcome: ScoreOutcome): Judgement => ({ result, reason, outcome });
const unknown = (reason: string): Judgement => judge('unknown', reason, 'unknown');
const undeliverable = (reason: string): Judgement => judge('undeliverable', reason, 'undeliverable');

/** The first stage that decides wins. A recorded delivery or bounce outranks the appearance of the name. */
export function toJudgement(found: Findings): Judgement {
  if (found.syntax === 'invalid') return undeliverable('invalid_syntax');
  if (found.syntax === 'literal') return judge('unknown', 'address_literal', 'not_checked');
  if (found.mailbox?.kind === 'delivered') return judge('deliverable', 'recorded_delivery', 'delivered');
  if (found.mailbox?.kind === 'bounced') return judge('undeliverable', 'recorded_bounce', 'bounced');
  if (found.mailbox?.kind === 'found_dead') return judge('undeliverable', 'recorded_verdict', 'found_dead');
  if (found.reserved && found.mailbox === null) return undeliverable('reserved_domain');
  if (found.lists.disposable) return judge('risky', 'disposable', 'not_checked');
  if (found.outOfSample && found.mailbox === null) return unknown('not_in_sample');
  // In an accept-all domain an earlier deliverable verdict proves nothing.
  if (found.mailbox?.kind === 'verified')
    return unlessTypo(
      found,
      found.acceptAll === true ? judge('risky', 'accept_all', 'verified') : judge('deliverable', 'recorded_verdict', 'verified'),
    );
  return byDns(found) ?? unlessTypo(found, bySmtp(found));
}

/** Null when DNS does not decide. */
function byDns({ route }: Findings): Judgement | null {
  if (route === null) return null;
  switch (route.kind) {
    case 'hosts':
      return null;
    case 'null_mx':
    case 'no_domain':
    case 'no_mail_host':
      return undeliverable(route.kind);
    case 'failed':
      return unknown('dns_failed');
    default:
      return route satisfies never;
  }
}

function bySmtp({ smtp, acceptAll, retryAtMs }: Findings): Judgement {
  if (smtp === null) return retryAtMs === null ? judge('unknown', 'not_checked', 'not_checked') : unknown('pending');
  if (smtp === 'off') return judge('unknown', 'smtp_off', 'not_checked');
  if (smtp === 'not_asked') return judge('unknown', 'smtp_not_asked', 'not_checked');
  switch (smtp.meaning) {
    case 'accepted':
      return acceptAll === true ? judge('risky', 'accept_all', 'accepted') : judge('deliverable', 'accepted', 'accepted');
    case 'no_mailbox':
    case 'mailbox_disabled':
      return undeliverable(smtp.meaning);
    case 'mailbox_full':
      return judge('risky', 'mailbox_full', 'mailbox_full');
    case 'try_later':
      return unknown('greylisted');
    case 'blocked':
      return judge('unknown', 'smtp_blocked', 'not_checked');
    case 'no_answer':
      return unknown(whyNoAnswer(smtp));
    case 'cannot_verify':
    case 'policy_rejected':
    case 'rejected':
    case 'smtputf8_unsupported':
    case 'pending':
      return unknown(smtp.meaning);
    default:
      return smtp.meaning satisfies never;
  }
}

/** A failure before RCPT says nothing about the mailbox, but may be about the client. */
function whyNoAnswer({ code, enhanced }: MailboxAnswer): string {
  if (enhanced?.startsWith('5.7.') === true) return 'policy_rejected';
  return code === null ? 'no_answer' : 'server_refused';
}

/** Mail to a mistyped domain may arrive, but at the wrong person. */
function unlessTypo({ lists }: Findings, judgement: Judgement): Judgement {
  const looksGood = judgement.result === 'deliverable' || judgement.outcome === 'not_checked';
  return lists.didYouMean !== null && looksGood ? { ...judgement, result: 'risky', reason: 'possible_typo' } : judgement;
}
