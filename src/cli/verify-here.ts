/** `millrace verify --local`: addresses checked from this machine, without a service. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError, UsageError, type ExitCode } from '../util/errors.ts';
import type { GivenKey } from '../job/commands/one-off.ts';
import { duration } from '../util/display.ts';
import { verifyAndPoll, type PollOptions } from '../verification/poll-schedule.ts';
import { addressIn } from '../verification/clean-keys.ts';
import type { EmailVerification, VerifyMode, VerifyRequest } from '../verification/types.ts';
import { openVerifier, ownName } from '../library/open-verifier.ts';
import { MAIL_FLAGS } from './command-flags.ts';
import { checkFlags, textOf, wholeOf, wordOf } from './flag-values.ts';
import type { Invocation } from './invocation.ts';
import { smtpPortOf } from './mail-flags.ts';
import { KINDS, withKeys, type Printer } from './one-off.ts';
import { smtpIdentity } from './smtp-identity.ts';
import { verifyInWindow } from './verify-window.ts';

/** Flags that mean nothing without `--local`. */
export const LOCAL_FLAGS = ['mode', ...MAIL_FLAGS];
/** The flag and the variable of a job's key. */
const WAIT_FLAG = 'verify.patienceMs';
const WAIT_VARIABLE = 'MILLRACE_VERIFY_PATIENCE_MS';
const MAX_WAIT_MS = 604_800_000;
const NO_EVIDENCE: VerifyRequest['evidence'] = { mailbox: () => [], domain: () => null };
const MODES: readonly VerifyMode[] = ['full', 'dns', 'syntax'];
const CONCURRENCY = 10_000;
const MAX_CONCURRENCY = 100_000;
/** The deadline of one domain, for each thousand of its addresses. */
const TIMEOUT_MS = 120_000;
const THOUSAND = 1_000;
/** Waits of several domains are reported together after this time. */
const REPORT_AFTER_MS = 1_000;

export async function verifyHere(invocation: Invocation): Promise<ExitCode> {
  checkFlags('verify --local', invocation);
  const mode = wordOf(invocation, 'mode', MODES) ?? 'full';
  const pollForMs = waitMsOf(invocation);
  const size = concurrencyOf(invocation);
  return withKeys(KINDS.verify, invocation, async (keys, printer, { drain }) => {
    const waits = new PendingReport();
    const polling: PollOptions = {
      pollForMs,
      now: () => Date.now(),
      sleep: (ms) => sleep(ms, undefined, { signal: drain }),
      onWait: (addresses, waitMs) => waits.add(addresses, waitMs),
    };
    const verifier = await openVerifier({
      ...smtpIdentity(invocation, ownName(hostname())),
      dnsServer: textOf(invocation, 'dns-server'),
      smtpPort: smtpPortOf(invocation),
    });
    const stop = (): void => {
      verifier.close();
      process.stdin.destroy();
    };
    drain.addEventListener('abort', stop, { once: true });
    const verify = async (emails: readonly string[]): Promise<EmailVerification[]> => {
      const request: VerifyRequest = {
        mode,
        maxAgeS: null,
        evidence: NO_EVIDENCE,
        timeoutMs: TIMEOUT_MS * Math.ceil(emails.length / THOUSAND),
      };
      const found = await verifyAndPoll(
        verifier,
        emails.map((text) => addressIn(text)?.spelled ?? text),
        request,
        polling,
      );
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

/** Reports pending addresses. Domains begin to wait one after the other, and one line is enough for those of one second. */
class PendingReport {
  #addresses = 0;
  #longestMs = 0;
  #timer: NodeJS.Timeout | null = null;

  add(addresses: number, waitMs: number): void {
    this.#addresses += addresses;
    this.#longestMs = Math.max(this.#longestMs, waitMs);
    this.#timer ??= setTimeout(() => this.#report(), REPORT_AFTER_MS);
  }

  close(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #report(): void {
    this.#timer = null;
    process.stderr.write(
      `millrace: ${this.#addresses} ${this.#addresses === 1 ? 'address is' : 'addresses are'}` +
        ` pending; asking again in ${duration(this.#longestMs)}\n`,
    );
    this.#addresses = 0;
    this.#longestMs = 0;
  }
}

/** Addresses in progress at once. @throws UsageError */
function concurrencyOf(invocation: Invocation): number {
  const given = wholeOf(invocation, 'concurrency', MAX_CONCURRENCY) ?? CONCURRENCY;
  if (given >= 1) return given;
  throw new UsageError('bad_value', `--concurrency must be a whole number from 1 to ${MAX_CONCURRENCY}, got 0`);
}

function waitMsOf(invocation: Invocation): number {
  const flag = textOf(invocation, WAIT_FLAG);
  const variable = invocation.env[WAIT_VARIABLE];
  const given = flag ?? (variable === undefined || variable === '' ? '0' : variable);
  const ms = Number(given);
  if (/^\d{1,9}$/.test(given) && ms <= MAX_WAIT_MS) return ms;
  const Refusal = flag === null ? ConfigError : UsageError;
  throw new Refusal(
    'bad_value',
    `${flag === null ? WAIT_VARIABLE : `--${WAIT_FLAG}`} must be milliseconds, a whole number from 0 to ${MAX_WAIT_MS} (7 ` +
      `days), got ${JSON.stringify(given.slice(0, 80))}`,
  );
}
