/** Asks a domain's mail hosts about its mailboxes: every host by preference, and whether the domain takes mail for anybody. */
import { JoinedCache } from '../dns/joined-cache.ts';
import type { MailHost } from '../dns/mail-routes.ts';
import { classifyRcpt, refusalForm, type RcptMeaning } from './classify.ts';
import { Conversations, PROBE_RECIPIENTS } from './conversations.ts';
import { DomainProgress, type MailboxAnswer, type Recipient, type StrangerHabit } from './domain-progress.ts';
import type { Reply } from './reply.ts';
import { SessionFailure, type SmtpSession } from './session.ts';
import type { SmtpSettings } from './settings.ts';

export interface DomainAnswer {
  readonly mailboxes: ReadonlyMap<string, MailboxAnswer>;
  /** Of each host for which that is known, whether it takes the domain's mail for anybody. */
  readonly acceptAll: ReadonlyMap<string, boolean>;
}

/** Recipients who are worth a conversation of their own beside the others: even a server that thinks for a second about each is through with them in time. */
const SHARE = 25;
/** Recipients taken at once; between two lots the probe has its turn. */
const LOT = 25;
/** Conversations with one host that may break off: it is let go then, until later. */
const MAX_BROKEN_OFF = 20;
const HABIT_KEPT_MS = 24 * 3_600_000;
const MAX_KEPT = 50_000;

/** What several conversations with one host have in common. */
interface HostTurn {
  readonly host: MailHost;
  readonly progress: DomainProgress;
  brokenOff: number;
  failure: SessionFailure | null;
  /** Conversations beside the first one, once the host has answered. */
  others: Promise<unknown> | null;
}

export class Mailboxes {
  readonly #settings: SmtpSettings;
  readonly #conversations: Conversations;
  readonly #habits: JoinedCache<StrangerHabit>;

  /** @param clock monotonic, milliseconds. */
  constructor(settings: SmtpSettings, clock: () => number) {
    this.#settings = settings;
    this.#conversations = new Conversations(settings, clock);
    this.#habits = new JoinedCache(clock, MAX_KEPT);
  }

  /** An answer for each recipient; trouble is an answer. What is not asked when `signal` aborts is `pending`. */
  async ask(domain: string, hosts: readonly MailHost[], recipients: readonly Recipient[], signal: AbortSignal): Promise<DomainAnswer> {
    const progress = new DomainProgress(domain, recipients, signal);
    for (const host of hosts) {
      progress.beginHost(host.name, this.#habits.peek(habitKey(domain, host.name)) ?? null);
      if (!progress.wantsMore) break;
      const turn: HostTurn = { host, progress, brokenOff: 0, failure: null, others: null };
      await this.#converse(turn);
      await turn.others;
      if (turn.failure !== null && !signal.aborted) progress.endHost(turn.failure, this.#conversations.isAlive(host) && !refusedForGood(turn, turn.failure));
    }
    if (signal.aborted) progress.endTime();
    return { mailboxes: progress.answers, acceptAll: progress.acceptAll };
  }

  /** Ends all conversations. */
  close(): void {
    this.#conversations.close();
  }

  /** One conversation with a host after the other, until nobody is left or it has had enough. */
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
        // At its limit a server hangs up over any command: that one is over as it should be.
        if (this.#conversations.roomIn(session) > 0) await session.reset();
        this.#conversations.release(session);
      } catch (error) {
        this.#conversations.discard(session, error instanceof SessionFailure ? error : null);
        if (!(error instanceof SessionFailure)) throw error;
        turn.failure = error;
        turn.brokenOff++;
        // Who will not hear of any recipient is not asked again; over one of them it may go on with the others.
        if (error.failure.trouble === 'stopped' || (session.answered === 0 && error.stage !== 'rcpt')) return;
      }
    }
  }

  /** Asks about those who are left, as far as one conversation goes. */
  async #askAll(session: SmtpSession, turn: HostTurn): Promise<void> {
    const { progress } = turn;
    for (;;) {
      const room = this.#conversations.roomIn(session);
      if (progress.wantsProbe && (room >= PROBE_RECIPIENTS || session.asked === 0)) {
        await this.#probe(session, turn);
        continue;
      }
      const lot = progress.take(Math.min(LOT, room));
      if (lot.length === 0) return this.#askWitness(session, progress);
      await this.#askLot(session, lot, turn);
    }
  }

  /** Settles the refusals of this conversation that do not say why, as far as one who was accepted before shows what they mean. */
  async #askWitness(session: SmtpSession, progress: DomainProgress): Promise<void> {
    const witness = progress.witnessFor(session);
    if (witness !== null) progress.settleRefusals(session, await this.#isAccepted(session, witness));
  }

  async #isAccepted(session: SmtpSession, { address, utf8 }: Recipient): Promise<boolean> {
    const replies: Reply[] = [];
    await session.ask([address], utf8, (_address, reply) => replies.push(reply));
    return replies.some((reply) => classifyRcpt(reply) === 'accepted');
  }

  async #askLot(session: SmtpSession, lot: readonly Recipient[], turn: HostTurn): Promise<void> {
    const { progress } = turn;
    const open = new Map(lot.map((recipient) => [recipient.address, recipient]));
    for (const recipient of session.smtputf8 ? [] : lot.filter(({ utf8 }) => utf8)) {
      open.delete(recipient.address);
      progress.putAside(recipient, session);
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

  /** More conversations where many are left; only with a host that has answered, so that one which refuses us is not asked eight times at once. */
  #beginOthers(turn: HostTurn): Promise<unknown> {
    const count = Math.min(Math.ceil(turn.progress.left / SHARE), this.#settings.conversationsPerProvider - 1);
    const others = Promise.all(Array.from({ length: count }, () => this.#converse(turn)));
    // Whoever awaits it is told; until then nobody need be.
    others.catch(() => undefined);
    return others;
  }

  /** Asks about two recipients whom nobody has. A 4xx, a drop, or words about us say nothing. */
  async #probe(session: SmtpSession, { host, progress }: HostTurn): Promise<void> {
    progress.beginProbe();
    let habit: StrangerHabit | null;
    try {
      habit = await this.#habitOf(session, progress);
    } catch (error) {
      progress.endProbe(true);
      throw error;
    }
    progress.endProbe(false);
    if (habit === null) return;
    progress.learnHabit(habit);
    this.#habits.put(habitKey(progress.domain, host.name), habit, HABIT_KEPT_MS);
  }

  async #habitOf(session: SmtpSession, { domain, witness }: DomainProgress): Promise<StrangerHabit | null> {
    const meanings: RcptMeaning[] = [];
    const forms = new Set<string>();
    await session.ask(this.#settings.strangers().map((stranger) => `${stranger}@${domain}`), false, (stranger, reply) => {
      meanings.push(classifyRcpt(reply));
      forms.add(refusalForm(reply, stranger));
    });
    if (meanings.every((meaning) => meaning === 'accepted')) return { acceptAll: true, refusal: null, witness: null };
    if (meanings.every((meaning) => meaning === 'accepted' || isRefusal(meaning))) return { acceptAll: false, refusal: null, witness: null };
    const [form] = forms;
    const isOneRefusal = forms.size === 1 && meanings.every((meaning) => meaning === 'rejected' || meaning === 'policy_rejected');
    if (!isOneRefusal || form === undefined || witness === null) return null;
    // The server may have had enough of us since it accepted somebody: only one who is accepted again shows that it tells them apart.
    if (!(await this.#isAccepted(session, witness))) return null;
    return meanings[0] === 'rejected' ? { acceptAll: false, refusal: form, witness } : { acceptAll: false, refusal: null, witness: null };
  }
}

/** A 5xx to us, whatever the host said to others; one that let us go on in another conversation was for that conversation alone. */
function refusedForGood({ brokenOff }: HostTurn, { failure }: SessionFailure): boolean {
  return brokenOff < MAX_BROKEN_OFF && (failure.reply?.code ?? 0) >= 500;
}

/** A backup often takes everything that the host which knows the mailboxes would refuse: what is known of one says nothing of the other. */
function habitKey(domain: string, host: string): string {
  return `${domain} ${host}`;
}

function isRefusal(meaning: RcptMeaning): boolean {
  return meaning === 'no_mailbox' || meaning === 'mailbox_disabled';
}
