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
import { checkFlags, textOf, wordOf } from './flag-values.ts';
import type { Invocation } from './invocation.ts';
import { inBatches } from './keys-from.ts';
import { MAIL_FLAGS, smtpPortOf } from './mail-flags.ts';
import { KINDS, withKeys, type Printer } from './one-off.ts';
import { ownName, smtpIdentity } from './smtp-identity.ts';

/** Flags that mean nothing without `--local`. */
export const LOCAL_FLAGS = ['mode', ...MAIL_FLAGS];
/** As of a job, and from the environment as there. */
const PATIENCE = 'verify.patienceMs';
const PATIENCE_VARIABLE = 'MILLRACE_VERIFY_PATIENCE_MS';
const LONGEST_PATIENCE_MS = 604_800_000;
const FLAGS = ['local', 'json', PATIENCE, ...LOCAL_FLAGS];
const MODES: readonly VerifyMode[] = ['full', 'dns', 'syntax'];
const BATCH = 1_000;
/** For one batch. */
const TIMEOUT_MS = 120_000;

export async function verifyHere(invocation: Invocation): Promise<ExitCode> {
  checkFlags('verify --local', invocation, FLAGS);
  const request: VerifyRequest = { mode: wordOf(invocation, 'mode', MODES) ?? 'full', maxAgeS: null, evidence: { mailbox: () => [], domain: () => null }, timeoutMs: TIMEOUT_MS };
  const patienceMs = patienceOf(invocation);
  return withKeys(KINDS.verify, invocation, async (keys, printer, { drain }) => {
    const patience: Patience = { patienceMs, now: () => Date.now(), sleep: (ms) => sleep(ms, undefined, { signal: drain }), onWait: tellWait };
    const verifier = await openVerifier(invocation);
    const stop = (): void => {
      verifier.close();
      process.stdin.destroy();
    };
    drain.addEventListener('abort', stop, { once: true });
    try {
      for await (const batch of inBatches(keys, BATCH)) {
        const found = await verifyPatiently(verifier, batch.flatMap(({ text }) => (text === null ? [] : (addressIn(text)?.key ?? text))), request, patience);
        drain.throwIfAborted();
        printAll(batch, found, printer);
        await printer.pipe.room();
      }
    } catch (error) {
      drain.throwIfAborted();
      throw error;
    } finally {
      drain.removeEventListener('abort', stop);
      verifier.close();
    }
  });
}

/** `found`: one for each key that has a text, in order. */
function printAll(batch: readonly GivenKey[], found: readonly EmailVerification[], printer: Printer): void {
  let next = 0;
  for (const key of batch) {
    if (key.text === null) {
      printer.write({ key, outcome: 'invalid', error: 'bad_encoding', answer: null });
      continue;
    }
    const record = { ...found[next++] };
    printer.write({ key, outcome: 'matched', error: null, answer: { record, text: JSON.stringify(record) } });
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

function tellWait(addresses: number, waitMs: number): void {
  process.stderr.write(`millrace: ${addresses} ${addresses === 1 ? 'address is' : 'addresses are'} pending; asking again in ${duration(waitMs)}\n`);
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
