/** A little world of mail: domains, mailboxes and mail hosts with their manners, as one file declares them. Types and lookups, pure. */

/**
 * How a mail host treats whoever connects, if not as it should. `dead`: nobody listens. `hangs_up`: at once. `silent`: never a word. `busy`: 421 as greeting.
 * `refuses`: 554 5.7.1 as greeting. `old`: knows no EHLO. `rejects_sender`: 550 5.7.1 to MAIL. `drops_at_rcpt`: hangs up instead of an answer.
 * `closes_at_rcpt`: 421 to RCPT. `curt`: hangs up after three recipients. `shy`: hangs up over a recipient whom nobody knows. `defers_sender`: 451 to MAIL. `endless`: a greeting without end. `binary`: bytes that are no reply. `drips`: one byte at a time, for ever.
 * `chatty`: answers what nobody asked. `bad_tls`: offers STARTTLS and then speaks no TLS. `strict`: takes one recipient a transaction.
 */
export type HostQuirk =
  | 'dead' | 'hangs_up' | 'silent' | 'busy' | 'refuses' | 'old' | 'rejects_sender' | 'drops_at_rcpt' | 'closes_at_rcpt' | 'curt' | 'shy' | 'defers_sender' | 'endless' | 'binary' | 'drips' | 'chatty' | 'bad_tls' | 'strict';

export interface WorldHost {
  readonly quirk?: HostQuirk;
  /** Milliseconds before each reply. */
  readonly latencyMs?: number;
  /** Takes mail for anybody of its domains, as backups do that know no mailboxes. */
  readonly takesAnybody?: boolean;
  /** Takes addresses with non-ASCII local parts. */
  readonly smtputf8?: boolean;
  /** Says 421 and hangs up at the next command after so many recipients. */
  readonly mostRecipients?: number;
  /** Says 421 in place of a greeting to whoever comes while so many are there. */
  readonly mostConversations?: number;
  /** Says 554 5.7.1 to MAIL once it was asked about so many recipients, in all conversations. */
  readonly blocksAfter?: number;
  /** Does not offer PIPELINING, and takes it for an attack. */
  readonly oneByOne?: boolean;
  /** Offers STARTTLS; needs a certificate where the world is started. */
  readonly tls?: boolean;
}

export interface WorldDomain {
  /** Preference and host. None: the domain itself is its mail host if there is one of its name. */
  readonly mx?: readonly (readonly [number, string])[];
  readonly nullMx?: boolean;
  /** DNS that does not work: it says so (SERVFAIL, or NOTAUTH, which the platform's resolver cannot tell from an empty answer), sends on to others, or says nothing. */
  readonly dns?: 'servfail' | 'not_auth' | 'refers' | 'silent';
  /** Local parts, normalised; as they are spelled where `mindsCase` is set. */
  readonly mailboxes?: readonly string[];
  /** Tells local parts of other case apart, as RFC 5321 2.4 allows. */
  readonly mindsCase?: boolean;
  /** Takes mail for anybody. */
  readonly catchAll?: boolean;
  /** What is said to RCPT for certain local parts. */
  readonly replies?: Readonly<Record<string, string>>;
  /** What is said of those whom nobody knows; default 550 5.1.1. */
  readonly stranger?: string;
  /** Whoever asks for the first time is told to come again after so many milliseconds. */
  readonly greylistMs?: number;
  /** Whoever does not come again within so many milliseconds is forgotten, and new when he does. Default: nobody is. */
  readonly forgetsMs?: number;
}

export interface MailWorld {
  readonly hosts: Readonly<Record<string, WorldHost>>;
  readonly domains: Readonly<Record<string, WorldDomain>>;
}

const UNKNOWN = '550 5.1.1 no such user here';
const RELAY = '554 5.7.1 relay access denied';
const LATER = '450 4.2.0 greylisted, please come again later';

/** What a host says to RCPT. Remembers who asked before, for greylisting. */
export class Postmaster {
  readonly #world: MailWorld;
  readonly #now: () => number;
  readonly #seen = new Map<string, number>();

  /** @param now milliseconds, of any clock. */
  constructor(world: MailWorld, now: () => number) {
    this.#world = world;
    this.#now = now;
  }

  /** Whether anybody has the address. */
  knows(recipient: string): boolean {
    const at = recipient.lastIndexOf('@');
    const domain = this.#world.domains[recipient.slice(at + 1).toLowerCase()];
    return domain?.mailboxes?.includes(recipient.slice(0, at).toLowerCase()) === true;
  }

  /** The reply of `host` to a recipient as it stands between the angle brackets. */
  reply(host: string, sender: string, recipient: string): string {
    const at = recipient.lastIndexOf('@');
    const name = recipient.slice(at + 1).toLowerCase();
    const domain = Object.hasOwn(this.#world.domains, name) ? this.#world.domains[name] : undefined;
    const local = domain?.mindsCase === true ? recipient.slice(0, at) : recipient.slice(0, at).toLowerCase();
    if (domain === undefined || !(domain.mx?.some(([, mx]) => mx === host) ?? name === host)) return RELAY;
    if (domain.greylistMs !== undefined && this.#isNew(`${sender} ${recipient}`, domain.greylistMs, domain.forgetsMs ?? Infinity)) return LATER;
    const said = domain.replies !== undefined && Object.hasOwn(domain.replies, local) ? domain.replies[local] : undefined;
    if (said !== undefined) return said;
    if (domain.catchAll === true || this.#world.hosts[host]?.takesAnybody === true || domain.mailboxes?.includes(local) === true) return '250 2.1.5 fine';
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
