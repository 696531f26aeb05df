/**
 * The verification waterfall: syntax, lists, recorded evidence, DNS, SMTP. It stops at the first stage that decides; `checks` holds the
 * result and time of each stage. Addresses of one domain are asked about together.
 */
import { atOnce, mapped } from '../util/steps.ts';
import { compose } from './compose.ts';
import { MailRoutes, type MailHost, type MailRoute } from './dns/mail-routes.ts';
import type { Resolver } from './dns/resolver.ts';
import { firstStages, isSettled, type KnownNames } from './first-stages.ts';
import { Greylist } from './greylist.ts';
import type { MailboxAnswer, Recipient } from './smtp/domain-progress.ts';
import { Mailboxes, type DomainAnswer } from './smtp/mailboxes.ts';
import type { SmtpSettings } from './smtp/settings.ts';
import { Stopwatch } from './stopwatch.ts';
import type { EmailVerification, Findings, VerifyRequest } from './types.ts';

export interface VerifierOptions extends KnownNames {
  readonly resolver: Resolver;
  /** Null: mail servers are not asked (many networks block port 25), and the result rests on DNS. */
  readonly smtp: SmtpSettings | null;
  /** Also connect to this machine and to private networks, for a test bed. Default false. */
  readonly privateAddresses?: boolean;
  /** Wall clock, epoch milliseconds. */
  readonly now: () => number;
}

/** The wait before a pending verdict may be asked for again. */
const PENDING_RETRY_MS = 60_000;
const LATE = Symbol('late');
/** Work of the first stages, and of putting a result together, for one address. */
const [ADDRESS_UNITS, COMPOSE_UNITS] = [1, 1];

export class Verifier {
  readonly #options: VerifierOptions;
  readonly #routes: MailRoutes;
  readonly #mailboxes: Mailboxes | null;
  readonly #greylist = new Greylist();

  constructor(options: VerifierOptions) {
    const { resolver, clock, smtp, privateAddresses = false } = options;
    this.#options = options;
    this.#routes = new MailRoutes({ resolver, clock, privateAddresses });
    this.#mailboxes = smtp === null ? null : new Mailboxes(smtp, clock);
  }

  /** A result for each address, in order. An invalid address is a result, never an error. A repeated address is checked once. */
  async verify(emails: readonly string[], request: VerifyRequest): Promise<EmailVerification[]> {
    const { now } = this.#options;
    const { run = atOnce } = request;
    const first = await run(mapped(new Set(emails), ADDRESS_UNITS, (email) => firstStages(email, request, now(), this.#options)));
    const results = new Map(first.map((found) => [found.email, found]));
    const open = new Map<string, Findings[]>();
    for (const found of first) {
      if (found.domain === null || isSettled(found) || request.mode === 'syntax') continue;
      const together = open.get(found.domain);
      if (together === undefined) open.set(found.domain, [found]);
      else together.push(found);
    }
    if (open.size > 0) {
      const deadline = new AbortController();
      const timer = setTimeout(() => deadline.abort(), request.timeoutMs);
      try {
        const finished = await Promise.all([...open].map(([domain, found]) => this.#domain(domain, found, request, deadline.signal)));
        for (const found of finished.flat()) results.set(found.email, found);
      } finally {
        clearTimeout(timer);
      }
    }
    const nowMs = now();
    return await run(mapped(emails, COMPOSE_UNITS, (email) => compose(results.get(email) as Findings, nowMs)));
  }

  /** Ends all conversations with mail servers. */
  close(): void {
    this.#mailboxes?.close();
  }

  async #domain(domain: string, found: readonly Findings[], request: VerifyRequest, signal: AbortSignal): Promise<Findings[]> {
    const watch = new Stopwatch(this.#options.clock);
    const route = await inTime(this.#routes.find(domain), signal);
    if (route === LATE) {
      const check = watch.check('dns', 'pending', null);
      return found.map((one) => ({ ...one, retryAtMs: this.#options.now() + PENDING_RETRY_MS, checks: [...one.checks, check] }));
    }
    const check = watch.check('dns', route.kind === 'hosts' && route.implicit ? 'implicit_mx' : route.kind, describe(route));
    const routed = found.map((one) => ({ ...one, route, checks: [...one.checks, check] }));
    if (route.kind !== 'hosts') return routed;
    const mailboxes = this.#mailboxes;
    const unasked = request.mode === 'dns' ? 'not_asked' : mailboxes === null ? 'off' : null;
    if (mailboxes === null || unasked !== null) {
      const smtp = unasked ?? 'off';
      return routed.map((one) => ({ ...one, smtp, checks: [...one.checks, watch.check('smtp', smtp, null)] }));
    }
    return this.#ask(routed, watch, route.hosts, (recipients) => mailboxes.ask(domain, route.hosts, recipients, signal));
  }

  async #ask(
    routed: readonly Findings[],
    watch: Stopwatch,
    hosts: readonly MailHost[],
    askHosts: (recipients: readonly Recipient[]) => Promise<DomainAnswer>,
  ): Promise<Findings[]> {
    const nowMs = this.#options.now();
    const known = new Map(routed.map((one) => [one.email, this.#greylist.find(one.normalised ?? '', nowMs)]));
    // A greylisted mailbox is not asked again before its time.
    const isTooEarly = (one: Findings): boolean => (known.get(one.email)?.retryAtMs ?? 0) > nowMs;
    const asked = new Map(
      routed.filter((one) => !isTooEarly(one)).map((one) => [one.spelled ?? '', { address: one.spelled ?? '', utf8: one.smtputf8 }]),
    );
    const answer =
      asked.size === 0
        ? { mailboxes: new Map<string, MailboxAnswer>(), acceptAll: new Map<string, boolean>() }
        : await askHosts([...asked.values()]);
    for (const { spelled, normalised } of new Map(routed.map((one) => [one.normalised, one])).values()) {
      const meaning = answer.mailboxes.get(spelled ?? '')?.meaning;
      if (meaning === 'try_later') this.#greylist.postpone(normalised ?? '', nowMs);
      else if (meaning !== undefined && meaning !== 'no_answer' && meaning !== 'pending' && meaning !== 'blocked')
        this.#greylist.settle(normalised ?? '');
    }
    const ms = watch.check('smtp', '', null).ms;
    return routed.map((one) => {
      const postponed = this.#greylist.find(one.normalised ?? '', nowMs);
      const smtp = answer.mailboxes.get(one.spelled ?? '') ?? notYetAsked(hosts);
      const pending = smtp.meaning === 'pending' ? this.#options.now() + PENDING_RETRY_MS : null;
      return {
        ...one,
        smtp,
        acceptAll: answer.acceptAll.get(smtp.host) ?? one.acceptAll,
        askedBefore: known.get(one.email)?.times ?? 0,
        retryAtMs: postponed?.retryAtMs ?? pending,
        checks: [...one.checks, { name: 'smtp' as const, result: smtp.meaning, detail: smtp.message, ms }],
      };
    });
  }
}

/** The answer for a mailbox that may not be asked about yet. */
function notYetAsked([host]: readonly MailHost[]): MailboxAnswer {
  return {
    meaning: 'try_later',
    stage: 'rcpt',
    host: host?.name ?? '',
    code: null,
    enhanced: null,
    message: 'asked not long ago; the server wants more time',
    tls: false,
    attempts: 0,
  };
}

function describe(route: MailRoute): string | null {
  switch (route.kind) {
    case 'hosts':
      return route.hosts.map(({ name }) => name).join(', ');
    case 'failed':
    case 'no_mail_host':
      return route.detail;
    case 'null_mx':
    case 'no_domain':
      return null;
    default:
      return route satisfies never;
  }
}

/** The result of `work`, or LATE when `signal` aborts first. */
async function inTime<T>(work: Promise<T>, signal: AbortSignal): Promise<T | typeof LATE> {
  if (signal.aborted) return LATE;
  const { promise, resolve } = Promise.withResolvers<typeof LATE>();
  const stop = (): void => resolve(LATE);
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}
