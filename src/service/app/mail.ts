/** The service's verifier, with what it looks into: the Internet's mail, or a world of its own. */
import { dnsResolver, type Resolver } from '../../verification/dns/resolver.ts';
import { connectTo, SMTP_PORT, smtpSettings } from '../../verification/smtp/settings.ts';
import { Verifier } from '../../verification/verifier.ts';
import { isInWorld, type MailWorld } from '../sample/mail-world/world.ts';

export interface MailOptions {
  /** A world of mail on loopback instead of the Internet's: real DNS and SMTP, no network. */
  readonly world?: MailWorld;
  /** The world is a sample: addresses at domains outside of it are `unknown` / `not_in_sample`. */
  readonly isSample?: boolean;
  /**
   * How to introduce oneself to mail servers: the name said in EHLO, which should resolve to the address that one comes from, and the
   * sender (empty: the null sender). Without it mail servers are not asked, and results say so: who does not say who he is gets his address
   * onto blocklists.
   */
  readonly smtp?: { readonly ehloName: string | null; readonly sender: string } | null;
  /** `HOST:PORT` of the DNS server that is asked; default: those of this machine. */
  readonly dnsServer?: string | null;
  /** Where mail servers listen, default 25. Another port is a test bed: then DNS may point to this machine and to private networks. */
  readonly smtpPort?: number | null;
}

export interface OpenMail {
  readonly verifier: Verifier;
  /** Its DNS resolver. */
  readonly resolver: Resolver;
  close(): Promise<void>;
}

/** Said in the world of mail, where nobody looks it up. */
const WORLD_EHLO_NAME = 'verifier.example';

/** @param clock monotonic, milliseconds. @param now epoch milliseconds. */
export async function openMail(
  { world, isSample = false, smtp = null, dnsServer = null, smtpPort = null }: MailOptions,
  clock: () => number,
  now: () => number,
): Promise<OpenMail> {
  if (world === undefined) {
    const resolver = dnsResolver(dnsServer === null ? null : [dnsServer]);
    const verifier = new Verifier({
      resolver,
      smtp: smtp === null ? null : smtpSettings({ ...smtp, connect: connectTo(smtpPort ?? SMTP_PORT) }),
      privateAddresses: smtpPort !== null,
      ownDns: dnsServer !== null || smtpPort !== null,
      clock,
      now,
    });
    return { verifier, resolver, close: async () => verifier.close() };
  }
  const { startMailWorld } = await import('../sample/mail-world/start-world.ts');
  const running = await startMailWorld(world);
  const resolver = dnsResolver([running.dnsServer]);
  const verifier = new Verifier({
    resolver,
    smtp: smtpSettings({ ehloName: WORLD_EHLO_NAME, connect: running.connect }),
    privateAddresses: true,
    ownDns: true,
    ...(isSample ? { sample: (domain: string) => isInWorld(world, domain) } : {}),
    clock,
    now,
  });
  return {
    verifier,
    resolver,
    async close() {
      verifier.close();
      await running.close();
    },
  };
}
