/** The verifier of this machine, for the command and for programs. */
import { isHostName } from '../verification/domain.ts';
import type { Verifier } from '../verification/verifier.ts';

interface OpenVerifierOptions {
  /** Null: mail servers see the address of the connection as a name. */
  readonly ehloName: string | null;
  /** Empty for the null sender. */
  readonly sender: string;
  readonly dnsServer: string | null;
  /** Null for port 25. */
  readonly smtpPort: number | null;
}

/** Top-level names of private networks (RFC 6761, RFC 6762, and common router defaults). */
const PRIVATE_NAMES = /\.(?:local|localdomain|localhost|internal|lan|home|arpa|invalid)$/;

/** The public name of this machine, used when no name is configured; null for a private name. @param hostname from the system */
export function ownName(hostname: string): string | null {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  return isHostName(name) && !PRIVATE_NAMES.test(name) ? name : null;
}

/** A DNS server or a port of one's own is a test bed: then DNS may point to this machine. A service that others ask is more careful. */
export async function openVerifier({ ehloName, sender, dnsServer, smtpPort }: OpenVerifierOptions): Promise<Verifier> {
  const { dnsResolver } = await import('../verification/dns/resolver.ts');
  const { connectTo, SMTP_PORT, smtpSettings } = await import('../verification/smtp/settings.ts');
  const { Verifier } = await import('../verification/verifier.ts');
  const isTestBed = dnsServer !== null || smtpPort !== null;
  return new Verifier({
    resolver: dnsResolver(dnsServer === null ? null : [dnsServer]),
    smtp: smtpSettings({ ehloName, sender, connect: connectTo(smtpPort ?? SMTP_PORT) }),
    privateAddresses: isTestBed,
    ownDns: isTestBed,
    clock: () => performance.now(),
    now: () => Date.now(),
  });
}
