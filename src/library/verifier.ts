/** `verifier`: addresses checked from this machine, by syntax, lists, DNS and mail servers. No service and no account is needed. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError } from '../util/errors.ts';
import { normaliseEmail } from '../verification/address.ts';
import { addressIn } from '../verification/clean-keys.ts';
import { isHostName } from '../verification/domain.ts';
import { verifyAndPoll } from '../verification/poll-schedule.ts';
import type { EmailVerification, VerifyMode, VerifyRequest } from '../verification/types.ts';
import type { Verifier } from '../verification/verifier.ts';
import { openVerifier, ownName } from './open-verifier.ts';

export interface VerifierSettings {
  /** How this machine introduces itself to mail servers. Default: its own name where that is a public one, else its address. */
  readonly ehloName?: string;
  /** The sender in `MAIL FROM`. Default: the null sender. */
  readonly mailFrom?: string;
  /** A DNS server to ask, such as `127.0.0.1:5353`. Default: those of the system. */
  readonly dnsServer?: string;
  /** The port of mail servers. Default 25. */
  readonly smtpPort?: number;
}

export interface VerifyOptions {
  /** `full` asks mail servers, `dns` ends before them, `syntax` sends nothing. Default `full`. */
  readonly mode?: VerifyMode;
  /** Addresses whose answer takes longer are `unknown` with the reason `pending`. Default 120,000 for each thousand addresses. */
  readonly timeoutMs?: number;
  /** How long to ask again about mailboxes whose server said "later". Default 0: not at all. */
  readonly waitMs?: number;
  /** Ends the wait of `waitMs`: the promise then rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** Checks addresses. It keeps what it learnt of domains and mail servers, so make one and use it for all. */
export interface LocalVerifier {
  /** The verdict of one address. An invalid address is a verdict, never an error. */
  verify(email: string, options?: VerifyOptions): Promise<EmailVerification>;
  /** A verdict for each address, in order. A repeated address is checked once. */
  verify(emails: readonly string[], options?: VerifyOptions): Promise<EmailVerification[]>;
  /** Ends all conversations with mail servers. */
  close(): void;
}

const TIMEOUT_MS = 120_000;
const THOUSAND = 1_000;
const NO_EVIDENCE: VerifyRequest['evidence'] = { mailbox: () => [], domain: () => null };

/** Makes a verifier. Nothing is sent before the first call. @throws ConfigError for a name or a sender that no server would take */
export function verifier(settings: VerifierSettings = {}): LocalVerifier {
  const { ehloName, mailFrom = '', dnsServer = null, smtpPort = null } = settings;
  if (ehloName !== undefined && !isHostName(ehloName.toLowerCase()))
    throw new ConfigError('bad_ehlo_name', `ehloName must be a host name, got ${JSON.stringify(ehloName.slice(0, 80))}`);
  if (mailFrom !== '' && normaliseEmail(mailFrom) !== mailFrom.toLowerCase())
    throw new ConfigError('bad_smtp_sender', 'mailFrom must be one plain e-mail address');
  const name = ehloName?.toLowerCase() ?? ownName(hostname());
  let opened: Promise<Verifier> | null = null;

  async function verify(email: string, options?: VerifyOptions): Promise<EmailVerification>;
  async function verify(emails: readonly string[], options?: VerifyOptions): Promise<EmailVerification[]>;
  async function verify(given: string | readonly string[], options: VerifyOptions = {}): Promise<EmailVerification | EmailVerification[]> {
    const emails = typeof given === 'string' ? [given] : given;
    const { mode = 'full', waitMs = 0, signal, timeoutMs = TIMEOUT_MS * Math.ceil(emails.length / THOUSAND) } = options;
    signal?.throwIfAborted();
    opened ??= openVerifier({ ehloName: name, sender: mailFrom, dnsServer, smtpPort });
    const found = await verifyAndPoll(
      await opened,
      emails.map((text) => addressIn(text)?.spelled ?? text),
      { mode, maxAgeS: null, evidence: NO_EVIDENCE, timeoutMs },
      {
        pollForMs: waitMs,
        now: () => Date.now(),
        sleep: (ms) => sleep(ms, undefined, signal === undefined ? {} : { signal }),
        onWait: () => undefined,
      },
    );
    return typeof given === 'string' ? (found[0] as EmailVerification) : found;
  }

  return { verify, close: () => void opened?.then((one) => one.close()) };
}
