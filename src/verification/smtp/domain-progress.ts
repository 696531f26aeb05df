/** The state of one domain while its mail hosts are asked: recipients left, answers, and conversations that broke off. */
import { refusalForm, type RcptMeaning } from './classify.ts';
import type { Reply } from './reply.ts';
import type { SessionFailure, SmtpSession, SmtpStage } from './session.ts';

export interface Recipient {
  /** The local part in its original case (RFC 5321 2.4: only its host may interpret it), the domain in A-labels. */
  readonly address: string;
  /** Has a non-ASCII local part (RFC 6531). */
  readonly utf8: boolean;
}

/**
 * `no_answer`: no host replied to RCPT. `smtputf8_unsupported`: no host takes non-ASCII local parts. `pending`: the deadline passed, or the
 * server takes no more for now. `blocked`: the network blocks port 25.
 */
type MailboxMeaning = RcptMeaning | 'no_answer' | 'smtputf8_unsupported' | 'pending' | 'blocked';

export interface MailboxAnswer {
  readonly meaning: MailboxMeaning;
  /** The stage that the conversation had reached. */
  readonly stage: SmtpStage;
  readonly host: string;
  readonly code: number | null;
  readonly enhanced: string | null;
  /** The server's text, or a description of the failure. */
  readonly message: string;
  readonly tls: boolean;
  /** The number of conversations that asked about the mailbox, or were meant to. */
  readonly attempts: number;
}

/** How a host treats random recipients, from the accept-all probe. */
export interface ProbeResult {
  /** True when the host accepts any address. */
  readonly acceptAll: boolean;
  /** The form in which it refuses random addresses, if the words do not say that the mailbox is unknown; null otherwise. */
  readonly refusal: string | null;
  /** A recipient that the host accepted in the same conversation; null where `refusal` is null. */
  readonly witness: Recipient | null;
}

/** RFC 2142 and RFC 5321 4.5.1: servers accept these even from clients that they refuse otherwise, so they prove nothing. */
const ALWAYS_TAKEN = /^(?:postmaster|abuse|hostmaster|webmaster|security|noc|mailer-daemon)@/i;

/** How often conversations with one host may break off at the same mailbox. */
const MAX_BREAKS = 2;
/** How often the probe may be tried. */
const MAX_PROBES = 2;

export class DomainProgress {
  readonly domain: string;
  readonly signal: AbortSignal;
  readonly answers = new Map<string, MailboxAnswer>();
  /** Whether a host takes mail for any address, by host, where known. */
  readonly acceptAll = new Map<string, boolean>();
  #left: Recipient[];
  /** Recipients for the next host. */
  #forNextHost: Recipient[] = [];
  #host = '';
  #probes = MAX_PROBES;
  #isProbing = false;
  #anyAccepted = false;
  #witness: Recipient | null = null;
  #noneLeft = new AbortController();
  readonly #askedHere = new Set<string>();
  /** The form in which the current host refuses random recipients, when its meaning needs a comparison. */
  #probeRefusal: string | null = null;
  /** Refusals without a reason, by conversation. */
  readonly #unexplained = new Map<SmtpSession, Set<string>>();
  readonly #attempts = new Map<string, number>();
  readonly #breaks = new Map<string, number>();

  constructor(domain: string, recipients: readonly Recipient[], signal: AbortSignal) {
    this.domain = domain;
    this.signal = signal;
    this.#left = [...recipients];
  }

  get left(): number {
    return this.#left.length;
  }

  /** Whether to probe the current host now: it has accepted a recipient, and no other conversation uses it. */
  get wantsProbe(): boolean {
    return !this.acceptAll.has(this.#host) && this.#anyAccepted && this.#probes > 0 && !this.#isProbing;
  }

  /** True while the current host has a recipient or a probe left. */
  get wantsMore(): boolean {
    return !this.signal.aborted && (this.#left.length > 0 || this.wantsProbe);
  }

  /** Aborts when no further conversation with the current host is needed. */
  get needed(): AbortSignal {
    return this.#left.length > 0 ? AbortSignal.any([this.signal, this.#noneLeft.signal]) : this.signal;
  }

  /** A recipient that the current host accepted, though it may refuse others; null before the first. */
  get witness(): Recipient | null {
    return this.#witness;
  }

  /** From now on `host` is asked about all recipients without an answer. @param probe how it treats random addresses; null when unknown. */
  beginHost(host: string, probe: ProbeResult | null): void {
    this.#host = host;
    this.#witness = null;
    this.#probeRefusal = null;
    this.#unexplained.clear();
    if (probe !== null) this.noteProbe(probe);
    this.#probes = MAX_PROBES;
    this.#anyAccepted = false;
    this.#askedHere.clear();
    this.#breaks.clear();
    if (this.#noneLeft.signal.aborted) this.#noneLeft = new AbortController();
    this.#left.push(...this.#forNextHost.splice(0));
  }

  /** Takes up to `most` recipients. Each is then answered, broken off or deferred to the next host. */
  take(most: number): Recipient[] {
    const taken = this.#left.splice(0, most);
    for (const { address } of taken) {
      this.#attempts.set(address, (this.#attempts.get(address) ?? 0) + 1);
      this.#askedHere.add(address);
    }
    if (this.#left.length === 0) this.#noneLeft.abort();
    return taken;
  }

  answered(recipient: Recipient, meaning: MailboxMeaning, reply: Reply, session: SmtpSession): void {
    const { address } = recipient;
    this.#anyAccepted ||= meaning === 'accepted';
    if (meaning === 'accepted' && !ALWAYS_TAKEN.test(address)) this.#witness ??= recipient;
    if (meaning === 'rejected') this.#unexplained.set(session, (this.#unexplained.get(session) ?? new Set()).add(address));
    this.#note(address, { meaning, stage: 'rcpt', code: reply.code, enhanced: reply.enhanced, message: reply.text, tls: session.tls });
  }

  /** Leaves a recipient that the current host does not support to the next host. */
  deferToNextHost(recipient: Recipient, session: SmtpSession): void {
    const message = 'the server does not take non-ASCII names';
    this.#note(recipient.address, { meaning: 'smtputf8_unsupported', stage: 'mail', ...NO_REPLY, message, tls: session.tls });
    this.#forNextHost.push(recipient);
  }

  /**
   * Puts the unanswered recipients of a conversation back. The one it broke off at goes first if others were answered before, because the
   * server may have reached its limit; otherwise last, so that it blocks no other. After two breaks it is left to the next host.
   */
  brokeOff(unanswered: readonly Recipient[], failure: SessionFailure, session: SmtpSession): void {
    const over = unanswered.find(({ address }) => address === failure.over);
    const others = unanswered.filter((recipient) => recipient !== over);
    if (this.#noneLeft.signal.aborted) this.#noneLeft = new AbortController();
    if (over === undefined || failure.failure.trouble === 'stopped') {
      this.#left.unshift(...unanswered);
      return;
    }
    const breaks = (this.#breaks.get(over.address) ?? 0) + 1;
    this.#breaks.set(over.address, breaks);
    this.#left.unshift(...others);
    if (breaks >= MAX_BREAKS) {
      this.#noteFailure(over, failure, session.tls, 'no_answer');
      this.#forNextHost.push(over);
    } else if (session.answered > 0) this.#left.unshift(over);
    else this.#left.push(over);
  }

  /**
   * Notes the failure of the current host for all remaining recipients.
   * @param alive the host answered before and has not refused the client since, so it can be asked later
   */
  endHost(failure: SessionFailure, alive: boolean): void {
    for (const recipient of this.#left) {
      const { address } = recipient;
      if (!this.#askedHere.has(address)) this.#attempts.set(address, (this.#attempts.get(address) ?? 0) + 1);
      this.#noteFailure(recipient, failure, false, alive ? 'pending' : 'no_answer');
    }
  }

  /** The deadline has passed: recipients that could still get an answer become pending. */
  endTime(): void {
    // Recipients deferred by the last host are not left, so they keep their answer.
    for (const { address } of this.#left) {
      const known = this.answers.get(address);
      if (known === undefined || known.meaning === 'no_answer')
        this.#note(address, {
          meaning: 'pending',
          stage: known?.stage ?? 'connect',
          ...NO_REPLY,
          message: 'time was up',
          tls: known?.tls ?? false,
        });
    }
  }

  beginProbe(): void {
    this.#isProbing = true;
    this.#probes--;
  }

  /** The result of probing the current host. */
  noteProbe({ acceptAll, refusal, witness }: ProbeResult): void {
    this.acceptAll.set(this.#host, acceptAll);
    this.#probeRefusal = refusal;
    this.#witness ??= witness;
  }

  /**
   * The accepted recipient to ask about again at the end of a conversation; null when no refusal needs it. Only an acceptance after the
   * refusals shows that the host still distinguishes recipients.
   */
  witnessFor(session: SmtpSession): Recipient | null {
    const isOpen = [...(this.#unexplained.get(session) ?? [])].some((address) => this.#matchesProbeRefusal(address));
    return isOpen ? this.#witness : null;
  }

  /**
   * Interprets refusals without a reason after the witness was asked again. When the host refuses random recipients in the same form and
   * still accepts the witness, the refused mailbox does not exist.
   */
  settleRefusals(session: SmtpSession, isAccepted: boolean): void {
    for (const address of this.#unexplained.get(session) ?? []) {
      const answer = this.answers.get(address);
      if (isAccepted && answer !== undefined && this.#matchesProbeRefusal(address))
        this.answers.set(address, { ...answer, meaning: 'no_mailbox' });
    }
    this.#unexplained.delete(session);
  }

  #matchesProbeRefusal(address: string): boolean {
    const answer = this.answers.get(address);
    if (answer === undefined || answer.meaning !== 'rejected' || answer.code === null) return false;
    return this.#probeRefusal === refusalForm({ code: answer.code, enhanced: answer.enhanced, text: answer.message }, address);
  }

  /** @param broke the conversation broke off, so that the probe may be tried in another one */
  endProbe(broke: boolean): void {
    this.#isProbing = false;
    if (!broke) this.#probes = 0;
  }

  /** An answer outranks a failure. A failure with a time to come again outranks one without. */
  #noteFailure({ address }: Recipient, { stage, failure }: SessionFailure, tls: boolean, otherwise: 'no_answer' | 'pending'): void {
    const known = this.answers.get(address);
    if (known !== undefined && known.meaning !== 'no_answer') return;
    const { reply } = failure;
    const later = reply !== null && reply.code >= 400 && reply.code < 500;
    const meaning = failure.trouble === 'blocked' ? 'blocked' : failure.trouble === 'stopped' ? 'pending' : later ? 'try_later' : otherwise;
    const { code, enhanced } = reply ?? NO_REPLY;
    this.#note(address, { meaning, stage, code, enhanced, message: failure.message, tls });
  }

  #note(address: string, answer: Omit<MailboxAnswer, 'host' | 'attempts'>): void {
    this.answers.set(address, { ...answer, host: this.#host, attempts: this.#attempts.get(address) ?? 0 });
  }
}

const NO_REPLY = { code: null, enhanced: null };
