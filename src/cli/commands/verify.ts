/** `millrace verify --local EMAIL... | -` */
import { hostname } from 'node:os';
import { EXIT, UsageError } from '../../errors.ts';
import type { ExitCode } from '../../errors.ts';
import { didYouMean, nearest } from '../../job/definition/nearest.ts';
import type { VerifyMode } from '../../verification/types.ts';
import type { Verifier } from '../../verification/verifier.ts';
import type { Invocation } from '../invocation.ts';
import { keysFrom } from '../keys-from.ts';
import { withStopSignals } from '../signals.ts';
import { smtpIdentity } from '../smtp-identity.ts';

const FLAGS = ['local', 'mode', 'dns-server', 'smtp-port', 'json'];
const MODES: readonly VerifyMode[] = ['full', 'dns', 'syntax'];
const BATCH = 1_000;
/** For one batch. */
const TIMEOUT_MS = 120_000;
/** RFC 5321 4.1.4: who has no name says the address. */
const NO_NAME = '[127.0.0.1]';

/** Verifies here, without a service. A bad address is a result, so the exit code is 0 for it too. */
export async function verify(invocation: Invocation): Promise<ExitCode> {
  checkFlags(invocation);
  const mode = modeOf(text(invocation, 'mode'));
  const asTable = process.stdout.isTTY && invocation.flags.get('json') !== true;
  return withStopSignals(async ({ drain }) => {
    const verifier = await openVerifier(invocation);
    const { verificationTable } = await import('../../verification/table.ts');
    const stop = (): void => {
      verifier.close();
      process.stdin.destroy();
    };
    drain.addEventListener('abort', stop, { once: true });
    try {
      const request = { mode, maxAgeS: null, evidence: { mailbox: () => null, domain: () => null }, timeoutMs: TIMEOUT_MS };
      for await (const emails of keysFrom(invocation.keys, 'e-mail address', process.stdin, BATCH)) {
        const found = await verifier.verify(emails, request);
        drain.throwIfAborted();
        process.stdout.write(found.map((one) => (asTable ? `${verificationTable(one)}\n\n` : `${JSON.stringify(one)}\n`)).join(''));
      }
      return EXIT.ok;
    } catch (error) {
      drain.throwIfAborted();
      throw error;
    } finally {
      drain.removeEventListener('abort', stop);
      verifier.close();
    }
  });
}

/** A DNS server or a port of one's own is a test bed: then DNS may point to this machine. */
async function openVerifier(invocation: Invocation): Promise<Verifier> {
  const server = text(invocation, 'dns-server');
  const port = portOf(text(invocation, 'smtp-port'));
  const { platformResolver } = await import('../../verification/dns/resolver.ts');
  const { connectTo, SMTP_PORT, smtpSettings } = await import('../../verification/smtp/settings.ts');
  const { Verifier } = await import('../../verification/verifier.ts');
  const identity = smtpIdentity(invocation.env) ?? { ehloName: hostname().includes('.') ? hostname() : NO_NAME, sender: '' };
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
    throw new UsageError('unknown_flag', `\`millrace verify\` has no flag --${flag.slice(0, 80)}${didYouMean(near === null ? null : `--${near}`)}`);
  }
  if (flags.get('local') === true) return;
  throw new UsageError('not_available', 'millrace verify without --local (it asks the configured service) is not in this version', { hint: 'Add --local to verify here: millrace verify --local jane@example.com' });
}

function modeOf(given: string | null): VerifyMode {
  const mode = MODES.find((known) => known === (given ?? 'full'));
  if (mode === undefined) throw new UsageError('bad_value', `--mode must be one of ${MODES.join(', ')}, got ${JSON.stringify(given?.slice(0, 80))}`);
  return mode;
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
