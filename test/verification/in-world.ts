/** A verifier in the mail world of `fixtures/mail-world.json`, over real sockets or with a scripted resolver. */
import { readFileSync } from 'node:fs';
import { startMailWorld, type RunningWorld } from '../../src/service/sample/mail-world/start-world.ts';
import type { MailWorld } from '../../src/service/sample/mail-world/world.ts';
import { dnsResolver, type Resolver } from '../../src/verification/dns/resolver.ts';
import { smtpSettings, type SmtpSettings } from '../../src/verification/smtp/settings.ts';
import type { EmailVerification, EvidenceSource, VerifyRequest } from '../../src/verification/types.ts';
import { Verifier, type VerifierOptions } from '../../src/verification/verifier.ts';
import { cleanUp } from '../support/clean-up.ts';
import { testTls } from './certificate.ts';

export const WORLD = JSON.parse(readFileSync(new URL('../../fixtures/mail-world.json', import.meta.url), 'utf8')) as MailWorld;

export const NO_EVIDENCE: EvidenceSource = { mailbox: () => [], domain: () => null };

export interface InWorld {
  readonly world: RunningWorld;
  readonly verifier: Verifier;
  /** The clock that the world's greylists and the verifier share, epoch milliseconds. */
  readonly time: { nowMs: number };
  readonly verify: (emails: readonly string[], request?: Partial<VerifyRequest>) => Promise<EmailVerification[]>;
  readonly one: (email: string, request?: Partial<VerifyRequest>) => Promise<EmailVerification>;
}

export const REQUEST: VerifyRequest = { mode: 'full', maxAgeS: null, evidence: NO_EVIDENCE, timeoutMs: 120_000 };

export async function inWorld(
  settings: Partial<SmtpSettings> = {},
  options: Partial<VerifierOptions> = {},
  declared: MailWorld = WORLD,
): Promise<InWorld> {
  const time = { nowMs: Date.UTC(2026, 5, 1) };
  const world = await startMailWorld(declared, { tls: testTls(), now: () => time.nowMs });
  cleanUp(() => world.close());
  const verifier = new Verifier({
    resolver: dnsResolver([world.dnsServer]),
    smtp: smtpSettings({ ehloName: 'verifier.test', connect: world.connect, commandMs: 2_000, perProviderPerSecond: 1_000, ...settings }),
    privateAddresses: true,
    ownDns: true,
    clock: () => performance.now(),
    now: () => time.nowMs,
    ...options,
  });
  cleanUp(() => verifier.close());
  const verify: InWorld['verify'] = (emails, request = {}) => verifier.verify(emails, { ...REQUEST, ...request });
  return { world, verifier, time, verify, one: async (email, request) => (await verify([email], request))[0] as EmailVerification };
}

/** A resolver that always fails, for verdicts that must not depend on DNS. */
export const NO_DNS: Resolver = {
  mx: () => Promise.resolve({ kind: 'failed', detail: 'ETEST' }),
  addresses: () => Promise.resolve({ kind: 'failed', detail: 'ETEST' }),
};
