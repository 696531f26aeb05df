/** The stages that need no network: syntax, lists, own evidence. */
import { describeEvidence, weigh } from './evidence.ts';
import { lookUpLists, type ListFindings } from './lists.ts';
import { Stopwatch } from './stopwatch.ts';
import { isReserved } from './reserved.ts';
import { checkSyntax } from './syntax.ts';
import type { Findings, VerifyRequest } from './types.ts';

const NO_LISTS: ListFindings = { disposable: false, suspectedDisposable: false, relay: false, role: false, free: false, lookalike: null, didYouMean: null };

/** Looks at one address as it was sent. A bad address is a finding, never an error. @param ownDns whether the DNS server is one's own and may have zones such as `.test` */
export function firstStages(email: string, request: VerifyRequest, nowMs: number, clock: () => number, ownDns: boolean): Findings {
  const watch = new Stopwatch(clock);
  const syntax = checkSyntax(email);
  const nothing: Findings = {
    email, syntax: syntax.kind, reserved: false, normalised: null, spelled: null, local: null, domain: null, smtputf8: false, lists: NO_LISTS, mailbox: null, company: null,
    route: null, smtp: null, acceptAll: null, askedBefore: 0, retryAtMs: null, checks: [],
  };
  if (syntax.kind === 'invalid') {
    return { ...nothing, lists: { ...NO_LISTS, didYouMean: syntax.meant }, checks: [watch.check('syntax', 'invalid', syntax.detail)] };
  }
  const { normalised, smtputf8 } = syntax;
  if (syntax.kind === 'literal') {
    return { ...nothing, normalised, smtputf8, checks: [watch.check('syntax', 'valid', 'the domain is an address literal')] };
  }
  const checks = [watch.check('syntax', 'valid', null)];
  const lists = lookUpLists(syntax.local, syntax.domain);
  const reserved = isReserved(syntax.domain, ownDns);
  checks.push(watch.check('lists', reserved ? 'reserved' : listsResult(lists), listsDetail(lists)));
  const known: Findings = { ...nothing, reserved, normalised, smtputf8, spelled: syntax.spelled, local: syntax.local, domain: syntax.domain, lists, checks };
  if (request.mode === 'syntax') return known;

  const weighed = weigh(request.evidence.mailbox(normalised), request.maxAgeS, nowMs);
  const company = request.evidence.domain(syntax.domain);
  const { result, detail } = describeEvidence(weighed, nowMs);
  checks.push(watch.check('evidence', result, detail));
  // That a domain takes mail for anybody is worth knowing from others, too; that it does not is for its servers alone to show.
  return { ...known, mailbox: weighed.held, company, acceptAll: company?.acceptsAll === true ? true : null };
}

/** Whether the first stages settle the answer: what really happened to mail, or what no mail server could better. */
export function isSettled(found: Findings): boolean {
  return found.syntax !== 'valid' || found.reserved || found.mailbox !== null || found.lists.disposable;
}

function listsResult({ disposable, suspectedDisposable, lookalike, didYouMean, relay, role, free }: ListFindings): string {
  if (disposable) return 'disposable';
  if (lookalike !== null) return 'lookalike';
  if (didYouMean !== null) return 'possible_typo';
  if (suspectedDisposable) return 'suspected_disposable';
  if (relay) return 'relay';
  if (role) return 'role';
  return free ? 'free' : 'clear';
}

function listsDetail({ lookalike, relay }: ListFindings): string | null {
  if (lookalike !== null) return `it reads like ${lookalike}`;
  return relay ? 'mail is forwarded to a mailbox elsewhere' : null;
}
