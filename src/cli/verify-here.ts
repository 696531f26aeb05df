/** `millrace verify --local`: addresses checked from this machine, without a service. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError, UsageError, type ExitCode } from '../errors.ts';
import type { GivenKey } from '../job/one-off.ts';
import { duration } from '../job/words.ts';
import { verifyPatiently, type Patience } from '../verification/patience.ts';
import { addressIn } from '../verification/clean-keys.ts';
import type { EmailVerification, VerifyMode, VerifyRequest } from '../verification/types.ts';
import type { Verifier } from '../verification/verifier.ts';
import { checkFlags, textOf, wholeOf, wordOf } from './flag-values.ts';
import type { Invocation } from './invocation.ts';
import { MAIL_FLAGS, smtpPortOf } from './mail-flags.ts';
import { KINDS, withKeys, type Printer } from './one-off.ts';
import { ownName, smtpIdentity } from './smtp-identity.ts';
import { verifyInWindow } from './verify-window.ts';

/** Flags that mean nothing without `--local`. */
export const LOCAL_FLAGS = ['mode', ...MAIL_FLAGS];
/** As of a job, and from the environment as there. */
const PATIENCE = 'verify.patienceMs';
const PATIENCE_VARIABLE = 'MILLRACE_VERIFY_PATIENCE_MS';
const LONGEST_PATIENCE_MS = 604_800_000;
const FLAGS = ['local', 'json', 'concurrency', PATIENCE, ...LOCAL_FLAGS];
const NO_EVIDENCE: VerifyRequest['evidence'] = { mailbox: () => [], domain: () => null };
const MODES: readonly VerifyMode[] = ['full', 'dns', 'syntax'];
const CONCURRENCY = 10_000;
const MOST_CONCURRENCY = 100_000;
/** The deadline of one domain, for each thousand of its addresses. */
const TIMEOUT_MS = 120_000;
const THOUSAND = 1_000;
/** Waits of several domains are told together. */
const TELL_MS = 1_000;

export async function verifyHere(invocation: Invocation): Promise<ExitCode> {
  checkFlags('verify --local', invocation, FLAGS);
  const mode = wordOf(invocation, 'mode', MODES) ?? 'full';
  const patienceMs = patienceOf(invocation);
  const size = concurrencyOf(invocation);
  return withKeys(KINDS.verify, invocation, async (keys, printer, { drain }) => {
    const waits = new Waits();
    const patience: Patience = { patienceMs, now: () => Date.now(), sleep: (ms) => sleep(ms, undefined, { signal: drain }), onWait: (addresses, waitMs) => waits.add(addresses, waitMs) };
    const verifier = await openVerifier(invocation);
    const stop = (): void => {
      verifier.close();
      process.stdin.destroy();
    };
    drain.addEventListener('abort', stop, { once: true });
    const verify = async (emails: readonly string[]): Promise<EmailVerification[]> => {
      const request: VerifyRequest = { mode, maxAgeS: null, evidence: NO_EVIDENCE, timeoutMs: TIMEOUT_MS * Math.ceil(emails.length / THOUSAND) };
      const found = await verifyPatiently(verifier, emails.map((text) => addressIn(text)?.spelled ?? text), request, patience);
      drain.throwIfAborted();
      return found;
    };
    try {
      await verifyInWindow(keys, { size, verify, write: (key, found) => print(key, found, printer), room: () => printer.pipe.room() });
    } catch (error) {
      drain.throwIfAborted();
      throw error;
    } finally {
      drain.removeEventListener('abort', stop);
      waits.close();
      verifier.close();
    }
    drain.throwIfAborted();
  });
}

function print(key: GivenKey, found: EmailVerification | null, printer: Printer): void {
  if (found === null) return printer.write({ key, outcome: 'invalid', error: 'bad_encoding', answer: null });
  const record = { ...found };
  printer.write({ key, outcome: 'matched', error: null, answer: { record, text: JSON.stringify(record) } });
}

/** Tells of addresses that are pending: domains begin to wait one after the other, and one line is enough for all of a moment. */
class Waits {
  #addresses = 0;
  #longestMs = 0;
  #timer: NodeJS.Timeout | null = null;

  add(addresses: number, waitMs: number): void {
    this.#addresses += addresses;
    this.#longestMs = Math.max(this.#longestMs, waitMs);
    this.#timer ??= setTimeout(() => this.#tell(), TELL_MS);
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #tell(): void {
    this.#timer = null;
    process.stderr.write(`millrace: ${this.#addresses} ${this.#addresses === 1 ? 'address is' : 'addresses are'} pending; asking again in ${duration(this.#longestMs)}\n`);
    this.#addresses = 0;
    this.#longestMs = 0;
  }
}

/** A DNS server or a port of one's own is a test bed: then DNS may point to this machine. A service that others ask is more careful. */
async function openVerifier(invocation: Invocation): Promise<Verifier> {
  const server = textOf(invocation, 'dns-server');
  const port = smtpPortOf(invocation);
  const identity = smtpIdentity(invocation, ownName(hostname()));
  const { dnsResolver } = await import('../verification/dns/resolver.ts');
  const { connectTo, SMTP_PORT, smtpSettings } = await import('../verification/smtp/settings.ts');
  const { Verifier } = await import('../verification/verifier.ts');
  return new Verifier({
    resolver: dnsResolver(server === null ? null : [server]),
    smtp: smtpSettings({ ...identity, connect: connectTo(port ?? SMTP_PORT) }),
    privateAddresses: server !== null || port !== null,
    ownDns: server !== null || port !== null,
    clock: () => performance.now(),
    now: () => Date.now(),
  });
}

/** Addresses under way at once. @throws UsageError */
function concurrencyOf(invocation: Invocation): number {
  const given = wholeOf(invocation, 'concurrency', MOST_CONCURRENCY) ?? CONCURRENCY;
  if (given >= 1) return given;
  throw new UsageError('bad_value', `--concurrency must be a whole number from 1 to ${MOST_CONCURRENCY}, got 0`);
}

function patienceOf(invocation: Invocation): number {
  const flag = textOf(invocation, PATIENCE);
  const variable = invocation.env[PATIENCE_VARIABLE];
  const given = flag ?? (variable === undefined || variable === '' ? '0' : variable);
  const ms = Number(given);
  if (/^\d{1,9}$/.test(given) && ms <= LONGEST_PATIENCE_MS) return ms;
  const Refusal = flag === null ? ConfigError : UsageError;
  throw new Refusal('bad_value', `${flag === null ? PATIENCE_VARIABLE : `--${PATIENCE}`} must be milliseconds, a whole number from 0 to ${LONGEST_PATIENCE_MS} (7 days), got ${JSON.stringify(given.slice(0, 80))}`);
}
