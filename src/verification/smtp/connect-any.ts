/** Opens a conversation with the first address of a mail host that accepts a connection. */
import type { MailHost } from '../dns/mail-routes.ts';
import { SmtpFailure } from './connection.ts';
import type { Reachability } from './reachability.ts';
import { SessionFailure, SmtpSession } from './session.ts';
import type { SmtpSettings } from './settings.ts';

/** The number of addresses tried in each family: IPv4 first, then IPv6. */
const MAX_ADDRESSES = 2;

/**
 * Returns a conversation, or the failure of the last address. The first address gets the full connection timeout, and the others share
 * another one, so that a silent host leaves time for the next host.
 * @param domain the domain to ask about. @param reachability is informed of answers and timeouts
 */
export async function tryAddresses(
  host: MailHost,
  domain: string,
  settings: SmtpSettings,
  reachability: Reachability,
  stop: AbortSignal,
): Promise<SmtpSession | SessionFailure> {
  let last = new SessionFailure('connect', new SmtpFailure('unreachable', 'it has no address'));
  const tried = ([4, 6] as const).flatMap((family) =>
    host.addresses.filter((address) => address.family === family).slice(0, MAX_ADDRESSES),
  );
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
