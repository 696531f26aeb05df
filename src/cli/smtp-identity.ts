/** Who the verifier says it is to mail servers, from the environment. */
import { ConfigError } from '../errors.ts';
import { normaliseEmail } from '../verification/address.ts';
import { isHostName } from '../verification/domain.ts';

export interface SmtpIdentity {
  /** Null: the address that we come from stands for a name. */
  readonly ehloName: string | null;
  /** Empty: the null sender. */
  readonly sender: string;
}

/** Top-level names that nobody outside a house can look up (RFC 6761, RFC 6762, and the habits of routers). */
const AT_HOME = /\.(?:local|localdomain|localhost|internal|lan|home|arpa|invalid)$/;

/** The name of this machine if the world may know it, for want of a configured one. @param hostname as the system tells it. */
export function ownName(hostname: string): string | null {
  const name = hostname.toLowerCase().replace(/\.$/, '');
  return isHostName(name) && !AT_HOME.test(name) ? name : null;
}

/** Null when MILLRACE_SMTP_EHLO_NAME is not set. @throws ConfigError for a name or sender that no server would take. */
export function smtpIdentity(env: NodeJS.ProcessEnv): SmtpIdentity | null {
  const name = env['MILLRACE_SMTP_EHLO_NAME'] ?? '';
  const sender = env['MILLRACE_SMTP_SENDER'] ?? '';
  if (name === '') return null;
  if (!isHostName(name.toLowerCase())) {
    throw new ConfigError('bad_ehlo_name', `MILLRACE_SMTP_EHLO_NAME must be a host name, got ${JSON.stringify(name.slice(0, 80))}`, { hint: 'Such as mail.example.com: the name of the address that you come from.' });
  }
  if (sender !== '' && normaliseEmail(sender) !== sender.toLowerCase()) {
    throw new ConfigError('bad_smtp_sender', 'MILLRACE_SMTP_SENDER must be one plain e-mail address, or empty for the null sender');
  }
  return { ehloName: name.toLowerCase(), sender };
}
