/** How `serve` and `verify --local` verify mail from this machine. */
import { ConfigError, UsageError } from '../util/errors.ts';
import { MAIL_FLAGS } from './command-flags.ts';
import { textOf } from './flag-values.ts';
import type { Invocation } from './invocation.ts';
import { smtpIdentity, type SmtpIdentity } from './smtp-identity.ts';

/** The mail flags of `serve`; `verify` has `--mode dns` in place of `--no-smtp`. */
export const SERVE_MAIL_FLAGS = [...MAIL_FLAGS, 'smtp'];

interface ServeMail {
  /** Null when mail servers are not asked. */
  readonly smtp: SmtpIdentity | null;
  readonly dnsServer: string | null;
  readonly smtpPort: number | null;
}

/** A service asks mail servers when it has a name for itself, and never with `--no-smtp`. @throws UsageError, ConfigError */
export function serveMail(invocation: Invocation): ServeMail {
  const identity = smtpIdentity(invocation, null);
  const switched = invocation.flags.get('smtp');
  const smtp = switched === false || identity.ehloName === null ? null : identity;
  if (switched === true && smtp === null) {
    throw new ConfigError('no_ehlo_name', '--smtp: mail servers cannot be asked without a name to introduce oneself by', {
      hint: 'Say it: --ehlo-name mail.example.com, or MILLRACE_SMTP_EHLO_NAME. It should resolve to the address that you come from.',
    });
  }
  return { smtp, dnsServer: textOf(invocation, 'dns-server'), smtpPort: smtpPortOf(invocation) };
}

/** The port of mail servers; null for the usual one. @throws UsageError */
export function smtpPortOf(invocation: Invocation): number | null {
  const given = textOf(invocation, 'smtp-port');
  if (given === null) return null;
  const port = Number(given);
  if (/^\d{1,5}$/.test(given) && port >= 1 && port <= 65_535) return port;
  throw new UsageError('bad_value', `--smtp-port must be a whole number from 1 to 65535, got ${JSON.stringify(given.slice(0, 80))}`);
}
