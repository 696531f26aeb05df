/** Who the verifier says it is to mail servers: flags, else the environment. */
import { ConfigError, UsageError } from '../errors.ts';
import { normaliseEmail } from '../verification/address.ts';
import { isHostName } from '../verification/domain.ts';
import { textOf } from './flag-values.ts';
import type { Invocation } from './invocation.ts';

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

/** @param unnamed what is said where no name is configured. @throws UsageError, ConfigError for a name or sender that no server would take. */
export function smtpIdentity(invocation: Invocation, unnamed: string | null): SmtpIdentity {
  const name = setting(invocation, 'ehlo-name', 'MILLRACE_SMTP_EHLO_NAME');
  const sender = setting(invocation, 'mail-from', 'MILLRACE_SMTP_SENDER');
  if (name.text !== '' && !isHostName(name.text.toLowerCase())) {
    const message = `${name.from} must be a host name, got ${JSON.stringify(name.text.slice(0, 80))}`;
    const hint = 'Such as mail.example.com: the name of the address that you come from.';
    throw name.isFlag ? new UsageError('bad_value', message, { hint }) : new ConfigError('bad_ehlo_name', message, { hint });
  }
  if (sender.text !== '' && normaliseEmail(sender.text) !== sender.text.toLowerCase()) {
    const message = `${sender.from} must be one plain e-mail address`;
    const hint = 'Leave it out for the null sender.';
    throw sender.isFlag ? new UsageError('bad_value', message, { hint }) : new ConfigError('bad_smtp_sender', message, { hint });
  }
  return { ehloName: name.text === '' ? unnamed : name.text.toLowerCase(), sender: sender.text };
}

interface Setting {
  /** Empty: not set. */
  readonly text: string;
  /** The flag or the variable. */
  readonly from: string;
  readonly isFlag: boolean;
}

function setting(invocation: Invocation, flag: string, variable: string): Setting {
  const given = textOf(invocation, flag);
  return given === null ? { text: invocation.env[variable] ?? '', from: variable, isFlag: false } : { text: given, from: `--${flag}`, isFlag: true };
}
