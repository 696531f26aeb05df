/** The stages that need no network: syntax, lists and recorded evidence. */
import { describeEvidence, weigh } from './evidence.ts';
import { lookUpLists, type ListFindings } from './lists.ts';
import { Stopwatch } from './stopwatch.ts';
import { isReserved } from './reserved.ts';
import { checkSyntax } from './syntax.ts';
import type { Findings, VerifyRequest } from './types.ts';

/** The surroundings of a verifier. */
export interface KnownNames {
  /** The operator's own DNS server, which may have zones such as `.test`. Default false. */
  readonly ownDns?: boolean;
  /**
   * Whether a domain (ASCII, lower case) is in the sample that is asked instead of the Internet. Every other domain is `unknown` /
   * `not_in_sample`. Absent: mail is the Internet's.
   */
  readonly sample?: (domain: string) => boolean;
  /** Monotonic, milliseconds. */
  readonly clock: () => number;
}

const NO_LISTS: ListFindings = {
  disposable: false,
  suspectedDisposable: false,
  relay: false,
  role: false,
  free: false,
  lookalike: null,
  didYouMean: null,
};

/**
 * Checks one address as it was sent. An invalid address is a finding, never an error.
 * @param nowMs epoch milliseconds
 */
export function firstStages(email: string, request: VerifyRequest, nowMs: number, { clock, ownDns = false, sample }: KnownNames): Findings {
  const watch = new Stopwatch(clock);
  const syntax = checkSyntax(email);
  const blank: Findings = {
    email,
    syntax: syntax.kind,
    reserved: false,
    outOfSample: false,
    normalised: null,
    spelled: null,
    local: null,
    domain: null,
    smtputf8: false,
    lists: NO_LISTS,
    mailbox: null,
    company: null,
    route: null,
    smtp: null,
    acceptAll: null,
    askedBefore: 0,
    retryAtMs: null,
    checks: [],
  };
  if (syntax.kind === 'invalid') {
    return { ...blank, lists: { ...NO_LISTS, didYouMean: syntax.meant }, checks: [watch.check('syntax', 'invalid', syntax.detail)] };
  }
  const { normalised, smtputf8 } = syntax;
  if (syntax.kind === 'literal') {
    return { ...blank, normalised, smtputf8, checks: [watch.check('syntax', 'valid', 'the domain is an address literal')] };
  }
  const checks = [watch.check('syntax', 'valid', null)];
  const lists = lookUpLists(syntax.local, syntax.domain);
  const reserved = isReserved(syntax.domain, ownDns);
  // Syntax and lists are the same in a sample.
  const outOfSample = request.mode !== 'syntax' && sample?.(syntax.domain) === false;
  checks.push(
    watch.check(
      'lists',
      reserved ? 'reserved' : outOfSample && !lists.disposable ? 'not_in_sample' : listsResult(lists),
      listsDetail(lists),
    ),
  );
  const known: Findings = {
    ...blank,
    reserved,
    outOfSample,
    normalised,
    smtputf8,
    spelled: syntax.spelled,
    local: syntax.local,
    domain: syntax.domain,
    lists,
    checks,
  };
  if (request.mode === 'syntax') return known;

  const weighed = weigh(request.evidence.mailbox(normalised), request.maxAgeS, nowMs);
  const company = request.evidence.domain(syntax.domain);
  const { result, detail } = describeEvidence(weighed, nowMs);
  checks.push(watch.check('evidence', result, detail));
  // A record that a domain is accept-all is trusted. Only its own mail servers can show that it is not.
  return { ...known, mailbox: weighed.held, company, acceptAll: company?.acceptsAll === true ? true : null };
}

/** True when the first stages decide: by a recorded delivery or bounce, or because no mail server could improve the result. */
export function isSettled(found: Findings): boolean {
  return found.syntax !== 'valid' || found.reserved || found.outOfSample || found.mailbox !== null || found.lists.disposable;
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
