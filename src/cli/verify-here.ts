/** `millrace verify --local`: addresses checked from this machine, without a service. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { UsageError, type ExitCode } from '../errors.ts';
import { didYouMean, nearest } from '../job/definition/nearest.ts';
import type { GivenKey } from '../job/one-off.ts';
import { duration } from '../job/words.ts';
import { verifyPatiently, type Patience } from '../verification/patience.ts';
import type { EmailVerification, VerifyMode, VerifyRequest } from '../verification/types.ts';
import type { Verifier } from '../verification/verifier.ts';
import type { Invocation } from './invocation.ts';
import { inBatches } from './keys-from.ts';
import { KINDS, withKeys, type Printer } from './one-off.ts';
import { ownName, smtpIdentity } from './smtp-identity.ts';

/** Flags that mean nothing without `--local`. */
export const LOCAL_FLAGS = ['mode', 'dns-server', 'smtp-port'];
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
  checkFlags(invocation);
  const request: VerifyRequest = { mode: modeOf(text(invocation, 'mode')), maxAgeS: null, evidence: { mailbox: () => [], domain: () => null }, timeoutMs: TIMEOUT_MS };
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
        const found = await verifyPatiently(verifier, batch.flatMap(({ text: email }) => email ?? []), request, patience);
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

/** A DNS server or a port of one's own is a test bed: then DNS may point to this machine. */
async function openVerifier(invocation: Invocation): Promise<Verifier> {
  const server = text(invocation, 'dns-server');
  const port = portOf(text(invocation, 'smtp-port'));
  const { platformResolver } = await import('../verification/dns/resolver.ts');
  const { connectTo, SMTP_PORT, smtpSettings } = await import('../verification/smtp/settings.ts');
  const { Verifier } = await import('../verification/verifier.ts');
  const identity = smtpIdentity(invocation.env) ?? { ehloName: ownName(hostname()), sender: '' };
  return new Verifier({
    resolver: platformResolver(server === null ? null : [server]),
    smtp: smtpSettings({ ...identity, connect: connectTo(port ?? SMTP_PORT) }),
    privateAddresses: server !== null || port !== null,
    clock: () => performance.now(),
    now: () => Date.now(),
  });
}

function checkFlags({ flags }: Invocation): void {
  for (const flag of flags.keys()) {
    if (FLAGS.includes(flag)) continue;
    const near = nearest(flag, FLAGS);
    throw new UsageError('unknown_flag', `\`millrace verify --local\` has no flag --${flag.slice(0, 80)}${didYouMean(near === null ? null : `--${near}`)}`);
  }
}

function modeOf(given: string | null): VerifyMode {
  const mode = MODES.find((known) => known === (given ?? 'full'));
  if (mode === undefined) throw new UsageError('bad_value', `--mode must be one of ${MODES.join(', ')}, got ${JSON.stringify(given?.slice(0, 80))}`);
  return mode;
}

function tellWait(addresses: number, waitMs: number): void {
  process.stderr.write(`millrace: ${addresses} ${addresses === 1 ? 'address is' : 'addresses are'} pending; asking again in ${duration(waitMs)}\n`);
}

function patienceOf(invocation: Invocation): number {
  const flag = text(invocation, PATIENCE);
  const variable = invocation.env[PATIENCE_VARIABLE];
  const given = flag ?? (variable === undefined || variable === '' ? '0' : variable);
  const ms = Number(given);
  if (/^\d{1,9}$/.test(given) && ms <= LONGEST_PATIENCE_MS) return ms;
  throw new UsageError('bad_value', `${flag === null ? PATIENCE_VARIABLE : `--${PATIENCE}`} must be milliseconds, a whole number from 0 to ${LONGEST_PATIENCE_MS} (7 days), got ${JSON.stringify(given.slice(0, 80))}`);
}

function portOf(given: string | null): number | null {
  if (given === null) return null;
  const port = Number(given);
  if (/^\d{1,5}$/.test(given) && port >= 1 && port <= 65_535) return port;
  throw new UsageError('bad_value', `--smtp-port must be a whole number from 1 to 65535, got ${JSON.stringify(given.slice(0, 80))}`);
}

function text({ flags }: Invocation, flag: string): string | null {
  const value = flags.get(flag);
  if (value === undefined) return null;
  if (typeof value === 'string' && value !== '') return value;
  if (typeof value === 'object') throw new UsageError('repeated_flag', `--${flag} is given more than once`);
  throw new UsageError('missing_value', `--${flag} needs a value`);
}
