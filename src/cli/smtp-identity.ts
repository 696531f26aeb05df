/** The name and sender that the verifier shows to mail servers: from flags, else from the environment. */
import { ConfigError, UsageError } from '../util/errors.ts';
import { normaliseEmail } from '../verification/address.ts';
import { isHostName } from '../verification/domain.ts';
import { textOf } from './flag-values.ts';
import type { Invocation } from './invocation.ts';

export interface SmtpIdentity {
  /** Null when the IP address of the connection stands in for a name. */
  readonly ehloName: string | null;
  /** Empty for the null sender. */
  readonly sender: string;
}

/**
 * @param unnamed the name to use when none is configured.
 * @throws UsageError, ConfigError for a name or sender that no server would take.
 */
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
  /** Empty when not set. */
  readonly text: string;
  /** The flag or the variable. */
  readonly from: string;
  readonly isFlag: boolean;
}

function setting(invocation: Invocation, flag: string, variable: string): Setting {
  const given = textOf(invocation, flag);
  return given === null
    ? { text: invocation.env[variable] ?? '', from: variable, isFlag: false }
    : { text: given, from: `--${flag}`, isFlag: true };
}
