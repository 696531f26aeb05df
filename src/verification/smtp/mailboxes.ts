/** Asks the mail hosts of a domain about its mailboxes, by preference, and probes whether they accept all addresses. */
import { CoalescingCache } from '../dns/coalescing-cache.ts';
import type { MailHost } from '../dns/mail-routes.ts';
import { classifyRcpt, refusalForm, type RcptMeaning } from './classify.ts';
import { Conversations, PROBE_RECIPIENTS } from './conversations.ts';
import { DomainProgress, type MailboxAnswer, type Recipient, type ProbeResult } from './domain-progress.ts';
import type { Reply } from './reply.ts';
import { SessionFailure, type SmtpSession } from './session.ts';
import type { SmtpSettings } from './settings.ts';

export interface DomainAnswer {
  readonly mailboxes: ReadonlyMap<string, MailboxAnswer>;
  /** Whether a host takes the domain's mail for any address, by host, where known. */
  readonly acceptAll: ReadonlyMap<string, boolean>;
}

/** Recipients for each additional conversation. Even a server that takes a second for each recipient finishes this number in time. */
const RECIPIENTS_PER_CONVERSATION = 25;
/** Recipients in one batch. The probe runs between two batches. */
const BATCH = 25;
/** Conversations with one host that may break off before it is given up for now. */
const MAX_BROKEN_OFF = 20;
const PROBE_TTL_MS = 24 * 3_600_000;
const MAX_PROBES_CACHED = 50_000;

/** The state that conversations with one host share. */
interface HostTurn {
  readonly host: MailHost;
  readonly progress: DomainProgress;
  brokenOff: number;
  failure: SessionFailure | null;
  /** The additional conversations, once the host has answered. */
  others: Promise<unknown> | null;
}

export class Mailboxes {
  readonly #settings: SmtpSettings;
  readonly #conversations: Conversations;
  readonly #probes: CoalescingCache<ProbeResult>;

  /** @param clock monotonic, milliseconds. */
  constructor(settings: SmtpSettings, clock: () => number) {
    this.#settings = settings;
    this.#conversations = new Conversations(settings, clock);
    this.#probes = new CoalescingCache(clock, MAX_PROBES_CACHED);
  }

  /** Returns an answer for each recipient; a failure is an answer, too. Recipients not asked before `signal` aborts are `pending`. */
  async ask(domain: string, hosts: readonly MailHost[], recipients: readonly Recipient[], signal: AbortSignal): Promise<DomainAnswer> {
    const progress = new DomainProgress(domain, recipients, signal);
    for (const host of hosts) {
      progress.beginHost(host.name, this.#probes.peek(probeKey(domain, host.name)) ?? null);
      if (!progress.wantsMore) break;
      const turn: HostTurn = { host, progress, brokenOff: 0, failure: null, others: null };
      await this.#converse(turn);
      await turn.others;
      if (turn.failure !== null && !signal.aborted)
        progress.endHost(turn.failure, this.#conversations.isAlive(host) && !refusedForGood(turn, turn.failure));
    }
    if (signal.aborted) progress.endTime();
    return { mailboxes: progress.answers, acceptAll: progress.acceptAll };
  }

  /** Ends all conversations. */
  close(): void {
    this.#conversations.close();
  }

  /** Holds one conversation after another with a host, until no recipient is left or too many conversations broke off. */
  async #converse(turn: HostTurn): Promise<void> {
    const { host, progress } = turn;
    while (progress.wantsMore && turn.brokenOff < MAX_BROKEN_OFF) {
      const { needed } = progress;
      let session: SmtpSession;
      try {
        session = await this.#conversations.acquire(host, progress.domain, progress.signal, needed);
      } catch (error) {
        if (!(error instanceof SessionFailure)) throw error;
        if (!needed.aborted) turn.failure = error;
        return;
      }
      try {
        await this.#askAll(session, turn);
        // A server at its limit hangs up at the next command, so a full conversation is not reset.
        if (this.#conversations.roomIn(session) > 0) await session.reset();
        this.#conversations.release(session);
      } catch (error) {
        this.#conversations.discard(session, error instanceof SessionFailure ? error : null);
        if (!(error instanceof SessionFailure)) throw error;
        turn.failure = error;
        turn.brokenOff++;
        // A host that refuses every recipient is not asked again. If it refused a single recipient, it may accept the others.
        if (error.failure.trouble === 'stopped' || (session.answered === 0 && error.stage !== 'rcpt')) return;
      }
    }
  }

  /** Asks about the remaining recipients, up to the limit of the conversation. */
  async #askAll(session: SmtpSession, turn: HostTurn): Promise<void> {
    const { progress } = turn;
    for (;;) {
      const room = this.#conversations.roomIn(session);
      if (progress.wantsProbe && (room >= PROBE_RECIPIENTS || session.asked === 0)) {
        await this.#probe(session, turn);
        continue;
      }
      const batch = progress.take(Math.min(BATCH, room));
      if (batch.length === 0) return this.#askWitness(session, progress);
      await this.#askBatch(session, batch, turn);
    }
  }

  /** Interprets the refusals without a reason by asking again about a recipient that was accepted before. */
  async #askWitness(session: SmtpSession, progress: DomainProgress): Promise<void> {
    const witness = progress.witnessFor(session);
    if (witness !== null) progress.settleRefusals(session, await this.#isAccepted(session, witness));
  }

  async #isAccepted(session: SmtpSession, { address, utf8 }: Recipient): Promise<boolean> {
    const replies: Reply[] = [];
    await session.ask([address], utf8, (_address, reply) => replies.push(reply));
    return replies.some((reply) => classifyRcpt(reply) === 'accepted');
  }

  async #askBatch(session: SmtpSession, batch: readonly Recipient[], turn: HostTurn): Promise<void> {
    const { progress } = turn;
    const open = new Map(batch.map((recipient) => [recipient.address, recipient]));
    for (const recipient of session.smtputf8 ? [] : batch.filter(({ utf8 }) => utf8)) {
      open.delete(recipient.address);
      progress.deferToNextHost(recipient, session);
    }
    try {
      for (const kind of [false, true]) {
        const addresses = [...open.values()].filter(({ utf8 }) => utf8 === kind).map(({ address }) => address);
        await session.ask(addresses, kind, (address, reply) => {
          const recipient = open.get(address);
          if (recipient === undefined) return;
          open.delete(address);
          progress.answered(recipient, classifyRcpt(reply), reply, session);
          turn.others ??= this.#beginOthers(turn);
        });
      }
    } catch (error) {
      if (error instanceof SessionFailure) progress.brokeOff([...open.values()], error, session);
      throw error;
    }
  }

  /** Starts more conversations when many recipients are left. Called once the host has answered, so that a refusing host is asked once. */
  #beginOthers(turn: HostTurn): Promise<unknown> {
    const count = Math.min(Math.ceil(turn.progress.left / RECIPIENTS_PER_CONVERSATION), this.#settings.conversationsPerProvider - 1);
    const others = Promise.all(Array.from({ length: count }, () => this.#converse(turn)));
    // The rejection is handled where the promise is awaited.
    others.catch(() => undefined);
    return others;
  }

  /** Asks about two random recipients. A 4xx, a dropped connection, or a reply about the client gives no result. */
  async #probe(session: SmtpSession, { host, progress }: HostTurn): Promise<void> {
    progress.beginProbe();
    let result: ProbeResult | null;
    try {
      result = await this.#askProbe(session, progress);
    } catch (error) {
      progress.endProbe(true);
      throw error;
    }
    progress.endProbe(false);
    if (result === null) return;
    progress.noteProbe(result);
    this.#probes.put(probeKey(progress.domain, host.name), result, PROBE_TTL_MS);
  }

  async #askProbe(session: SmtpSession, { domain, witness }: DomainProgress): Promise<ProbeResult | null> {
    const meanings: RcptMeaning[] = [];
    const forms = new Set<string>();
    await session.ask(
      this.#settings.probeLocalParts().map((local) => `${local}@${domain}`),
      false,
      (address, reply) => {
        meanings.push(classifyRcpt(reply));
        forms.add(refusalForm(reply, address));
      },
    );
    if (meanings.every((meaning) => meaning === 'accepted')) return { acceptAll: true, refusal: null, witness: null };
    if (meanings.every((meaning) => meaning === 'accepted' || isRefusal(meaning)))
      return { acceptAll: false, refusal: null, witness: null };
    const [form] = forms;
    const isOneRefusal = forms.size === 1 && meanings.every((meaning) => meaning === 'rejected' || meaning === 'policy_rejected');
    if (!isOneRefusal || form === undefined || witness === null) return null;
    // The server may refuse everything by now. Only a repeated acceptance shows that it distinguishes recipients.
    if (!(await this.#isAccepted(session, witness))) return null;
    return meanings[0] === 'rejected' ? { acceptAll: false, refusal: form, witness } : { acceptAll: false, refusal: null, witness: null };
  }
}

/** True when the host refused the client with a 5xx. While other conversations may follow, the refusal was for one of them only. */
function refusedForGood({ brokenOff }: HostTurn, { failure }: SessionFailure): boolean {
  return brokenOff < MAX_BROKEN_OFF && (failure.reply?.code ?? 0) >= 500;
}

/** The key includes the host, because a backup host often accepts everything that the primary host refuses. */
function probeKey(domain: string, host: string): string {
  return `${domain} ${host}`;
}

function isRefusal(meaning: RcptMeaning): boolean {
  return meaning === 'no_mailbox' || meaning === 'mailbox_disabled';
}
