/** One domain while its mail hosts are asked: who is left, what was answered, and where conversations broke off. */
import { refusalForm, type RcptMeaning } from './classify.ts';
import type { Reply } from './reply.ts';
import type { SessionFailure, SmtpSession, SmtpStage } from './session.ts';

export interface Recipient {
  /** The local part as it was spelled (RFC 5321 2.4: only its host may read it), the domain in A-labels. */
  readonly address: string;
  /** Has a non-ASCII local part (RFC 6531). */
  readonly utf8: boolean;
}

/**
 * `no_answer`: no reply to RCPT came from any host. `smtputf8_unsupported`: no host takes such an address at all. `pending`: time was up, or the server
 * had enough for now. `blocked`: no mail server can be reached from here.
 */
export type MailboxMeaning = RcptMeaning | 'no_answer' | 'smtputf8_unsupported' | 'pending' | 'blocked';

export interface MailboxAnswer {
  readonly meaning: MailboxMeaning;
  /** How far the conversation came that this rests on. */
  readonly stage: SmtpStage;
  readonly host: string;
  readonly code: number | null;
  readonly enhanced: string | null;
  /** The server's words, or ours on what went wrong. */
  readonly message: string;
  readonly tls: boolean;
  /** Conversations in which the mailbox was asked about, or was to be. */
  readonly attempts: number;
}

/** How a host treats recipients whom nobody has. */
export interface StrangerHabit {
  /** Whether it takes mail for anybody. */
  readonly acceptAll: boolean;
  /** The form of its refusal of strangers, where the words do not say that there is no such mailbox; null: they do, or it refuses nobody. */
  readonly refusal: string | null;
  /** A recipient whom it accepted beside; null where `refusal` is. */
  readonly witness: Recipient | null;
}

/** RFC 2142 and RFC 5321 4.5.1: servers take mail for these even from clients whom they refuse otherwise, so they prove nothing. */
const ALWAYS_TAKEN = /^(?:postmaster|abuse|hostmaster|webmaster|security|noc|mailer-daemon)@/i;

/** Times that conversations with a host may break over the same mailbox. */
const MAX_BREAKS = 2;
/** Times that the probe may break off. */
const MAX_PROBES = 2;

export class DomainProgress {
  readonly domain: string;
  readonly signal: AbortSignal;
  readonly answers = new Map<string, MailboxAnswer>();
  /** Of each host for which that is known, whether it takes mail for anybody. */
  readonly acceptAll = new Map<string, boolean>();
  #left: Recipient[];
  /** Whom only another host can be asked about. */
  #aside: Recipient[] = [];
  #host = '';
  #probes = MAX_PROBES;
  #probing = false;
  #anybodyAccepted = false;
  #witness: Recipient | null = null;
  #enough = new AbortController();
  readonly #takenHere = new Set<string>();
  /** The form in which the present host refuses strangers, where only a comparison tells what it means. */
  #strangerRefusal: string | null = null;
  /** Refusals that do not say why, by the conversation in which they came. */
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

  /** Whether the present host is to be asked now if it takes anybody: it accepted somebody, and nobody else is at it. */
  get wantsProbe(): boolean {
    return !this.acceptAll.has(this.#host) && this.#anybodyAccepted && this.#probes > 0 && !this.#probing;
  }

  /** Whether the present host has anything left to be asked. */
  get wantsMore(): boolean {
    return !this.signal.aborted && (this.#left.length > 0 || this.wantsProbe);
  }

  /** Aborts when another conversation with the present host would be one too many. */
  get needed(): AbortSignal {
    return this.#left.length > 0 ? AbortSignal.any([this.signal, this.#enough.signal]) : this.signal;
  }

  /** A recipient whom the present host accepted, though it may refuse others; null: none yet. */
  get witness(): Recipient | null {
    return this.#witness;
  }

  /** From now on `host` is asked about all who have no answer. @param habit what is known of its treatment of strangers; null: nothing. */
  beginHost(host: string, habit: StrangerHabit | null): void {
    this.#host = host;
    this.#witness = null;
    this.#strangerRefusal = null;
    this.#unexplained.clear();
    if (habit !== null) this.learnHabit(habit);
    this.#probes = MAX_PROBES;
    this.#anybodyAccepted = false;
    this.#takenHere.clear();
    this.#breaks.clear();
    if (this.#enough.signal.aborted) this.#enough = new AbortController();
    this.#left.push(...this.#aside.splice(0));
  }

  /** The next `most` at most, to be answered, given back or put aside. */
  take(most: number): Recipient[] {
    const taken = this.#left.splice(0, most);
    for (const { address } of taken) {
      this.#attempts.set(address, (this.#attempts.get(address) ?? 0) + 1);
      this.#takenHere.add(address);
    }
    if (this.#left.length === 0) this.#enough.abort();
    return taken;
  }

  answered(recipient: Recipient, meaning: MailboxMeaning, reply: Reply, session: SmtpSession): void {
    const { address } = recipient;
    this.#anybodyAccepted ||= meaning === 'accepted';
    if (meaning === 'accepted' && !ALWAYS_TAKEN.test(address)) this.#witness ??= recipient;
    if (meaning === 'rejected') this.#unexplained.set(session, (this.#unexplained.get(session) ?? new Set()).add(address));
    this.#note(address, meaning, 'rcpt', reply.code, reply.enhanced, reply.text, session.tls);
  }

  /** The present host cannot be asked about it. */
  putAside(recipient: Recipient, session: SmtpSession): void {
    this.#note(recipient.address, 'smtputf8_unsupported', 'mail', null, null, 'the server does not take non-ASCII names', session.tls);
    this.#aside.push(recipient);
  }

  /**
   * A conversation broke off before these were answered. The one that was being asked about goes first in the next conversation when others were answered
   * before it, for the server may only have had enough; else last, so that it keeps nobody from an answer. Over whom it breaks twice only another host is asked.
   */
  brokeOff(unanswered: readonly Recipient[], failure: SessionFailure, session: SmtpSession): void {
    const over = unanswered.find(({ address }) => address === failure.over);
    const others = unanswered.filter((recipient) => recipient !== over);
    if (this.#enough.signal.aborted) this.#enough = new AbortController();
    if (over === undefined || failure.failure.trouble === 'stopped') {
      this.#left.unshift(...unanswered);
      return;
    }
    const breaks = (this.#breaks.get(over.address) ?? 0) + 1;
    this.#breaks.set(over.address, breaks);
    this.#left.unshift(...others);
    if (breaks >= MAX_BREAKS) {
      this.#noteFailure(over, failure, session.tls, 'no_answer');
      this.#aside.push(over);
    } else if (session.answered > 0) this.#left.unshift(over);
    else this.#left.push(over);
  }

  /** The present host is not asked again; what it failed by is noted for all who are left. @param alive it answered somebody, and did not refuse us since: it can be asked again later. */
  endHost(failure: SessionFailure, alive: boolean): void {
    for (const recipient of this.#left) {
      const { address } = recipient;
      if (!this.#takenHere.has(address)) this.#attempts.set(address, (this.#attempts.get(address) ?? 0) + 1);
      this.#noteFailure(recipient, failure, false, alive ? 'pending' : 'no_answer');
    }
  }

  /** Time is up: who has no answer and could have one yet is to be asked about later. */
  endTime(): void {
    // Whom the last host could not be asked about, nobody can.
    for (const { address } of this.#left) {
      const known = this.answers.get(address);
      if (known === undefined || known.meaning === 'no_answer') this.#note(address, 'pending', known?.stage ?? 'connect', null, null, 'time was up', known?.tls ?? false);
    }
  }

  beginProbe(): void {
    this.#probing = true;
    this.#probes--;
  }

  /** What the probe found of the present host. */
  learnHabit({ acceptAll, refusal, witness }: StrangerHabit): void {
    this.acceptAll.set(this.#host, acceptAll);
    this.#strangerRefusal = refusal;
    this.#witness ??= witness;
  }

  /**
   * Whom to ask about once more at the end of a conversation; null: nobody. Only a recipient who is accepted after the refusals shows that the host
   * has not had enough of us meanwhile.
   */
  witnessFor(session: SmtpSession): Recipient | null {
    const isOpen = [...(this.#unexplained.get(session) ?? [])].some((address) => this.#isOfStrangers(address));
    return isOpen ? this.#witness : null;
  }

  /**
   * The witness was asked about once more. A refusal that does not say why is about the mailbox when its host gives it to strangers, too, and still
   * accepts others: then nobody has that mailbox.
   */
  settleRefusals(session: SmtpSession, isAccepted: boolean): void {
    for (const address of this.#unexplained.get(session) ?? []) {
      const answer = this.answers.get(address);
      if (isAccepted && answer !== undefined && this.#isOfStrangers(address)) this.answers.set(address, { ...answer, meaning: 'no_mailbox' });
    }
    this.#unexplained.delete(session);
  }

  #isOfStrangers(address: string): boolean {
    const answer = this.answers.get(address);
    if (answer === undefined || answer.meaning !== 'rejected' || answer.code === null) return false;
    return this.#strangerRefusal === refusalForm({ code: answer.code, enhanced: answer.enhanced, text: answer.message }, address);
  }

  /** @param broke the conversation ended over it: it may be tried in another. */
  endProbe(broke: boolean): void {
    this.#probing = false;
    if (!broke) this.#probes = 0;
  }

  /** What a host said outranks how it failed; of failures, one that says when to come again outranks one that says nothing. */
  #noteFailure({ address }: Recipient, { stage, failure }: SessionFailure, tls: boolean, otherwise: 'no_answer' | 'pending'): void {
    const known = this.answers.get(address);
    if (known !== undefined && known.meaning !== 'no_answer') return;
    const { reply } = failure;
    const later = reply !== null && reply.code >= 400 && reply.code < 500;
    const meaning = failure.trouble === 'blocked' ? 'blocked' : failure.trouble === 'stopped' ? 'pending' : later ? 'try_later' : otherwise;
    this.#note(address, meaning, stage, reply?.code ?? null, reply?.enhanced ?? null, failure.message, tls);
  }

  #note(address: string, meaning: MailboxMeaning, stage: SmtpStage, code: number | null, enhanced: string | null, message: string, tls: boolean): void {
    this.answers.set(address, { meaning, stage, host: this.#host, code, enhanced, message, tls, attempts: this.#attempts.get(address) ?? 0 });
  }
}
