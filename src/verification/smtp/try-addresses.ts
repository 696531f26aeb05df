/** A conversation with whichever address of a mail host takes one. */
import type { MailHost } from '../dns/mail-routes.ts';
import { SmtpFailure } from './connection.ts';
import type { Reachability } from './reachability.ts';
import { SessionFailure, SmtpSession } from './session.ts';
import type { SmtpSettings } from './settings.ts';

/** Addresses of one host and one family that are tried: IPv4 first, then IPv6. */
const MAX_ADDRESSES = 2;

/**
 * A conversation, or what went wrong with the last address of the host. The first one has the whole time for a connection, and the others have as much
 * together, so that a host of which nothing is heard leaves time for the next one. @param domain about which it is to be asked.
 * @param reachability is told what was heard.
 */
export async function tryAddresses(host: MailHost, domain: string, settings: SmtpSettings, reachability: Reachability, stop: AbortSignal): Promise<SmtpSession | SessionFailure> {
  let last = new SessionFailure('connect', new SmtpFailure('unreachable', 'it has no address'));
  const tried = ([4, 6] as const).flatMap((family) => host.addresses.filter((address) => address.family === family).slice(0, MAX_ADDRESSES));
  for (const [n, { address }] of tried.entries()) {
    const connectMs = settings.connectMs / (n === 0 ? 1 : tried.length - 1);
    try {
      const session = await SmtpSession.open({ host: host.name, address }, { ...settings, connectMs }, stop);
      reachability.reached();
      return session;
    } catch (error) {
      if (!(error instanceof SessionFailure)) throw error;
      last = error;
      if (stop.aborted) break;
      if (error.stage !== 'connect') reachability.reached();
      else if (error.failure.trouble === 'timeout') reachability.timedOut(host.name, domain);
    }
  }
  return last;
}
