/** Asks a domain's mail hosts about its mailboxes: every host by preference, and whether the domain takes mail for anybody. */
import { JoinedCache } from '../dns/joined-cache.ts';
import type { MailHost } from '../dns/mail-routes.ts';
import { classifyRcpt, type RcptMeaning } from './classify.ts';
import { Conversations } from './conversations.ts';
import type { Reply } from './reply.ts';
import { SessionFailure, type SmtpSession, type SmtpStage } from './session.ts';
import type { SmtpSettings } from './settings.ts';

export interface Recipient {
  /** Normalised, the domain in A-labels. */
  readonly address: string;
  /** Has a non-ASCII local part (RFC 6531). */
  readonly utf8: boolean;
}

/** `no_answer`: no reply to RCPT came from any host. `smtputf8_unsupported`: no host takes such an address at all. `pending`: time was up. */
export type MailboxMeaning = RcptMeaning | 'no_answer' | 'smtputf8_unsupported' | 'pending';

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

export interface DomainAnswer {
  readonly mailboxes: ReadonlyMap<string, MailboxAnswer>;
  /** Whether the domain takes mail for anybody; null is not known. */
  readonly acceptAll: boolean | null;
}

/** Hosts tried for one domain, and conversations in all: what breaks off again and again is let go. */
const MAX_HOSTS = 5;
const MAX_CONVERSATIONS = 8;
/** Times that a conversation may break over the same mailbox. */
const MAX_BREAKS = 2;
const ACCEPT_ALL_KEPT_MS = 24 * 3_600_000;
const MAX_DOMAINS = 50_000;

interface Progress {
  readonly domain: string;
  readonly signal: AbortSignal;
  readonly answers: Map<string, MailboxAnswer>;
  readonly breaks: Map<string, number>;
  readonly attempts: Map<string, number>;
  left: readonly Recipient[];
  acceptAll: boolean | null;
}

export class Mailboxes {
  readonly #settings: SmtpSettings;
  readonly #conversations: Conversations;
  readonly #acceptAll: JoinedCache<boolean>;

  /** @param clock monotonic, milliseconds. */
  constructor(settings: SmtpSettings, clock: () => number) {
    this.#settings = settings;
    this.#conversations = new Conversations(settings, clock);
    this.#acceptAll = new JoinedCache(clock, MAX_DOMAINS);
  }

  /** An answer for each recipient; trouble is an answer. What is not asked when `signal` aborts is `pending`. */
  async ask(domain: string, hosts: readonly MailHost[], recipients: readonly Recipient[], signal: AbortSignal): Promise<DomainAnswer> {
    const progress: Progress = {
      domain, signal, answers: new Map(), breaks: new Map(), attempts: new Map(), left: recipients,
      acceptAll: this.#acceptAll.peek(domain) ?? null,
    };
    const queue = hosts.slice(0, MAX_HOSTS);
    for (let tried = 0; tried < MAX_CONVERSATIONS && progress.left.length > 0 && !signal.aborted; tried++) {
      const host = queue.shift();
      if (host === undefined) break;
      // A host that answered some and then hung up is asked again for the rest before its deputies are.
      if (await this.#converse(host, progress)) queue.unshift(host);
    }
    if (signal.aborted) for (const { address } of progress.left) progress.answers.set(address, late(progress.answers.get(address), progress.attempts.get(address) ?? 0));
    return { mailboxes: progress.answers, acceptAll: progress.acceptAll };
  }

  /** Ends all conversations. */
  close(): void {
    this.#conversations.close();
  }

  /** Asks one host about all that is left; true when it is worth another conversation, because this one broke off on its way. */
  async #converse(host: MailHost, progress: Progress): Promise<boolean> {
    for (const { address } of progress.left) progress.attempts.set(address, (progress.attempts.get(address) ?? 0) + 1);
    let session: SmtpSession;
    try {
      session = await this.#conversations.acquire(host, progress.signal);
    } catch (error) {
      if (!(error instanceof SessionFailure)) throw error;
      for (const { address } of progress.left) noteFailure(progress, address, host, error, false);
      return false;
    }
    // One that another domain used before may have died since without anybody's fault.
    const used = session.asked > 0;
    const before = progress.left.length;
    try {
      await askAll(session, host, progress);
      await this.#probe(session, progress);
      await session.reset();
      this.#conversations.release(session);
      return false;
    } catch (error) {
      this.#conversations.discard(session, error instanceof SessionFailure ? error : null);
      if (error instanceof SessionFailure) return used || progress.left.length < before;
      throw error;
    }
  }

  /** Two recipients whom nobody knows: who takes both takes anybody. A 4xx, a drop, or a word about us says nothing. */
  async #probe(session: SmtpSession, progress: Progress): Promise<void> {
    if (progress.acceptAll !== null || ![...progress.answers.values()].some(({ meaning }) => meaning === 'accepted')) return;
    const meanings: RcptMeaning[] = [];
    for (const stranger of this.#settings.strangers()) meanings.push(classifyRcpt(await session.ask(`${stranger}@${progress.domain}`, false)));
    if (meanings.every((meaning) => meaning === 'accepted')) progress.acceptAll = true;
    else if (meanings.every((meaning) => meaning === 'accepted' || isRefusal(meaning))) progress.acceptAll = false;
    if (progress.acceptAll !== null) this.#acceptAll.put(progress.domain, progress.acceptAll, ACCEPT_ALL_KEPT_MS);
  }
}

function isRefusal(meaning: RcptMeaning): boolean {
  return meaning === 'no_mailbox' || meaning === 'mailbox_disabled';
}

async function askAll(session: SmtpSession, host: MailHost, progress: Progress): Promise<void> {
  const { left } = progress;
  const again: Recipient[] = [];
  progress.left = again;
  for (const [index, recipient] of left.entries()) {
    const { address, utf8 } = recipient;
    if (utf8 && !session.smtputf8) {
      note(progress, address, host, session, 'smtputf8_unsupported', null, 'the server does not take non-ASCII names');
      again.push(recipient);
      continue;
    }
    try {
      const reply = await session.ask(address, utf8);
      note(progress, address, host, session, classifyRcpt(reply), reply, reply.text);
    } catch (error) {
      progress.left = [...again, ...left.slice(index + 1)];
      if (error instanceof SessionFailure) {
        noteFailure(progress, address, host, error, session.tls);
        const breaks = (progress.breaks.get(address) ?? 0) + 1;
        progress.breaks.set(address, breaks);
        if (breaks < MAX_BREAKS) progress.left = [...progress.left, recipient];
        for (const other of left.slice(index + 1)) noteFailure(progress, other.address, host, error, session.tls);
      }
      throw error;
    }
  }
}

function note(progress: Progress, address: string, host: MailHost, session: SmtpSession, meaning: MailboxMeaning, reply: Reply | null, message: string): void {
  progress.answers.set(address, {
    meaning, stage: reply === null ? 'mail' : 'rcpt', host: host.name, code: reply?.code ?? null, enhanced: reply?.enhanced ?? null, message, tls: session.tls,
    attempts: progress.attempts.get(address) ?? 1,
  });
}

/** Only the best that a host said is kept: a failure never replaces an answer. */
function noteFailure(progress: Progress, address: string, host: MailHost, { stage, failure }: SessionFailure, tls: boolean): void {
  const known = progress.answers.get(address);
  if (known !== undefined && known.meaning !== 'no_answer') return;
  progress.answers.set(address, {
    meaning: failure.trouble === 'stopped' ? 'pending' : 'no_answer', stage, host: host.name, code: failure.reply?.code ?? null, enhanced: failure.reply?.enhanced ?? null, message: failure.message, tls,
    attempts: progress.attempts.get(address) ?? 1,
  });
}

function late(known: MailboxAnswer | undefined, attempts: number): MailboxAnswer {
  if (known !== undefined && known.meaning !== 'no_answer') return known;
  return { meaning: 'pending', stage: known?.stage ?? 'connect', host: known?.host ?? '', code: null, enhanced: null, message: 'time was up', tls: known?.tls ?? false, attempts };
}
