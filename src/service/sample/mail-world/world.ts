/** A small simulated world of mail, declared by one file: domains, mailboxes and mail hosts with their faults. Types and lookups. Pure. */

/**
 * Faults of a mail host:
 * - `dead`: does not listen. `hangs_up`: closes at once. `silent`: never sends a byte.
 * - `busy`: greets with 421. `refuses`: greets with 554 5.7.1. `old`: does not know EHLO.
 * - `rejects_sender`: 550 5.7.1 to MAIL. `defers_sender`: 451 to MAIL.
 * - `drops_at_rcpt`: closes without a reply to RCPT. `closes_at_rcpt`: 421 to RCPT.
 * - `curt`: closes after three recipients. `shy`: closes at an unknown recipient. `strict`: accepts one recipient per transaction.
 * - `endless`: sends an endless greeting. `binary`: sends bytes that are not a reply. `drips`: sends one byte at a time, for ever.
 * - `chatty`: sends unsolicited replies. `bad_tls`: offers STARTTLS, but does not speak TLS.
 */
type HostQuirk =
  | 'dead'
  | 'hangs_up'
  | 'silent'
  | 'busy'
  | 'refuses'
  | 'old'
  | 'rejects_sender'
  | 'drops_at_rcpt'
  | 'closes_at_rcpt'
  | 'curt'
  | 'shy'
  | 'defers_sender'
  | 'endless'
  | 'binary'
  | 'drips'
  | 'chatty'
  | 'bad_tls'
  | 'strict';

export interface WorldHost {
  readonly quirk?: HostQuirk;
  /** Milliseconds before each reply. */
  readonly latencyMs?: number;
  /** Accepts every recipient of its domains, like a backup host without a list of mailboxes. */
  readonly takesAnybody?: boolean;
  /** Accepts addresses with non-ASCII local parts. */
  readonly smtputf8?: boolean;
  /** Sends 421 and closes at the next command after this number of recipients. */
  readonly mostRecipients?: number;
  /** Greets with 421 while this number of conversations is open. */
  readonly mostConversations?: number;
  /** Sends 554 5.7.1 to MAIL after this number of recipients, over all conversations. */
  readonly blocksAfter?: number;
  /** Does not offer PIPELINING, and treats it as an attack. */
  readonly oneByOne?: boolean;
  /** Offers STARTTLS. The world must be started with a certificate. */
  readonly tls?: boolean;
}

export interface WorldDomain {
  /** Preference and host. Without MX records, the domain itself is its mail host if a host has its name. */
  readonly mx?: readonly (readonly [number, string])[];
  readonly nullMx?: boolean;
  /**
   * A fault of the domain's DNS: no such name, SERVFAIL, NOTAUTH (which the platform's resolver cannot tell from an empty answer), a
   * referral, or silence.
   */
  readonly dns?: 'nxdomain' | 'servfail' | 'not_auth' | 'refers' | 'silent';
  /** Local parts, normalised; spelled exactly when `mindsCase` is set. */
  readonly mailboxes?: readonly string[];
  /** Distinguishes local parts by case, as RFC 5321 2.4 allows. */
  readonly mindsCase?: boolean;
  /** Accepts every recipient. */
  readonly catchAll?: boolean;
  /** Replies to RCPT, by local part. */
  readonly replies?: Readonly<Record<string, string>>;
  /** The reply for unknown recipients; default 550 5.1.1. */
  readonly stranger?: string;
  /** Greylisting: the time until a retry is accepted, milliseconds. */
  readonly greylistMs?: number;
  /** How long greylisting remembers a first attempt, milliseconds. Without it, for ever. */
  readonly forgetsMs?: number;
}

export interface MailWorld {
  readonly hosts: Readonly<Record<string, WorldHost>>;
  readonly domains: Readonly<Record<string, WorldDomain>>;
}

/** Whether the world has a domain of this name, ASCII and lower case. */
export function isInWorld({ domains, hosts }: MailWorld, name: string): boolean {
  return Object.hasOwn(domains, name) || Object.hasOwn(hosts, name);
}

const UNKNOWN = '550 5.1.1 no such user here';
const RELAY = '554 5.7.1 relay access denied';
const LATER = '450 4.2.0 greylisted, please come again later';

/** Decides replies to RCPT. It remembers earlier attempts, for greylisting. */
export class Postmaster {
  readonly #world: MailWorld;
  readonly #now: () => number;
  readonly #seen = new Map<string, number>();

  /** @param now milliseconds, of any clock. */
  constructor(world: MailWorld, now: () => number) {
    this.#world = world;
    this.#now = now;
  }

  /** Whether the address has a mailbox. */
  knows(recipient: string): boolean {
    const at = recipient.lastIndexOf('@');
    const domain = this.#world.domains[recipient.slice(at + 1).toLowerCase()];
    return domain?.mailboxes?.includes(recipient.slice(0, at).toLowerCase()) === true;
  }

  /** The reply of `host` to a recipient, which is the text between the angle brackets. */
  reply(host: string, sender: string, recipient: string): string {
    const at = recipient.lastIndexOf('@');
    const name = recipient.slice(at + 1).toLowerCase();
    const domain = Object.hasOwn(this.#world.domains, name) ? this.#world.domains[name] : undefined;
    const local = domain?.mindsCase === true ? recipient.slice(0, at) : recipient.slice(0, at).toLowerCase();
    if (domain === undefined || !(domain.mx?.some(([, mx]) => mx === host) ?? name === host)) return RELAY;
    if (domain.greylistMs !== undefined && this.#isNew(`${sender} ${recipient}`, domain.greylistMs, domain.forgetsMs ?? Infinity))
      return LATER;
    const reply = domain.replies !== undefined && Object.hasOwn(domain.replies, local) ? domain.replies[local] : undefined;
    if (reply !== undefined) return reply;
    if (domain.catchAll === true || this.#world.hosts[host]?.takesAnybody === true || domain.mailboxes?.includes(local) === true)
      return '250 2.1.5 fine';
    return domain.stranger ?? UNKNOWN;
  }

  #isNew(triplet: string, waitMs: number, forgetsMs: number): boolean {
    const now = this.#now();
    const seen = this.#seen.get(triplet);
    if (seen !== undefined && now - seen < forgetsMs) return now - seen < waitMs;
    this.#seen.set(triplet, now);
    return true;
  }
}
