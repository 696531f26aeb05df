/** Starts a mail world on loopback: a real DNS server, and a real SMTP server for each mail host. */
import type { SecureContext } from 'node:tls';
import { connectTo, type SmtpSettings } from '../../../verification/smtp/settings.ts';
import { startDnsServer } from './dns-server.ts';
import { startSmtpHost, type HostCounts, type SmtpHost } from './smtp-server.ts';
import { Postmaster, type MailWorld } from './world.ts';

export interface RunningWorld {
  /** `HOST:PORT` of its DNS server. */
  readonly dnsServer: string;
  /** Connects to its hosts by name. Each host has a port of its own, because some systems have only one loopback address. */
  readonly connect: SmtpSettings['connect'];
  /** The address of a host, for clients that connect by other means. */
  portOf(host: string): number;
  /** Statistics of a host. */
  countsOf(host: string): Readonly<HostCounts>;
  close(): Promise<void>;
}

/** @param tls the certificate of hosts that offer STARTTLS @param now milliseconds of any clock, for greylisting */
export async function startMailWorld(
  world: MailWorld,
  { tls = null, now = () => performance.now() }: { tls?: SecureContext | null; now?: () => number } = {},
): Promise<RunningWorld> {
  const postmaster = new Postmaster(world, now);
  const hosts = new Map<string, SmtpHost>();
  await Promise.all(
    Object.entries(world.hosts).map(async ([name, host]) => hosts.set(name, await startSmtpHost(name, host, postmaster, tls))),
  );
  const dns = await startDnsServer(world);
  const named = (host: string): SmtpHost => {
    const found = hosts.get(host);
    if (found === undefined) throw new RangeError(`the mail world has no host ${host}`);
    return found;
  };
  return {
    dnsServer: `127.0.0.1:${dns.port}`,
    connect: connectTo(0, ({ host, address }) => ({ address, port: named(host).port })),
    portOf: (host) => named(host).port,
    countsOf: (host) => named(host).counts,
    async close() {
      await Promise.all([dns.close(), ...[...hosts.values()].map((host) => host.close())]);
    },
  };
}
