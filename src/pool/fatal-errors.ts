/** The errors that end a run, in words for the user. */
import type { ConnectionFault } from '../client/connection-fault.ts';
import { ConfigError, EXIT, MillraceError } from '../util/errors.ts';

/** Some providers say so with another status than 402; a declared client then says it with this code. */
export function isOutOfCredits(status: number, code: string): boolean {
  return status === 402 || code === 'out_of_credits';
}

/** @param found the description of the key file when it was read again; null when the key came from no file */
export function deniedError(status: number, code: string, detail: string, found: string | null = null): MillraceError {
  const message = `${status} ${code}${detail === '' ? '' : `: ${detail}`}`;
  if (isOutOfCredits(status, code))
    return new MillraceError(EXIT.refused, 'out_of_credits', `the service says that the credits are used up (${message})`, {
      hint: 'Top up, then run the same command: the job resumes where it stopped.',
    });
  const again = found === null ? '' : `; its file was read again: ${found}`;
  return new MillraceError(EXIT.refused, 'key_refused', `the service refused the API key (${message})${again}`, {
    hint: 'Set MILLRACE_API_KEY or MILLRACE_API_KEY_FILE to a key of this service, then run the same command.',
  });
}

const PERHAPS_THE_KEY = ' A firewall may also refuse the API key.';

/** @param detail the request and the answer, where known; it may begin with the status or contain it */
export function wrongAddressError(status: number, detail: string): MillraceError {
  const said = detail.includes(`answered ${status}`)
    ? detail
    : `${status} ${detail.replace(new RegExp(`^HTTP ${status}\\b`), '')}`.replace(/ +/g, ' ').trim();
  const hint = detail.includes('/v1/v1/')
    ? 'Leave out /v1 at the end of --base-url: Millrace adds it.'
    : `Check --base-url: it is the part of the address before /v1.${status === 401 || status === 403 ? PERHAPS_THE_KEY : ''}`;
  return new ConfigError('not_the_service', `this does not look like the data service: ${said}`, { hint });
}

/** The remedy for each connection fault. */
const REMEDIES: Readonly<Record<ConnectionFault, string>> = {
  untrusted_certificate: 'Set NODE_EXTRA_CA_CERTS to a PEM file with the certificate of the authority that signed it',
  expired_certificate: 'Have the certificate renewed, or correct the clock of this machine',
  foreign_certificate: 'Check the host in --base-url, or have a certificate made for this host',
  no_tls: 'Check the scheme and the port in --base-url: http:// if this port has no TLS',
  needs_tls: 'Write https:// in --base-url',
  tls_refused: 'Check the host and the port in --base-url, and which version of TLS and which certificates the server asks for',
  http2_only: 'Name a port in --base-url that speaks HTTP/1.1, or permit HTTP/1.1 on this one',
  not_http: 'Check the host and the port in --base-url',
  no_such_host: 'Check the spelling of the host in --base-url and in the proxy variables, and whether the DNS of this machine knows it',
  proxy_refused:
    'Put the credentials into HTTPS_PROXY or HTTP_PROXY (http://user:password@proxy:3128), ' +
    'permit the host in the proxy, or name it in NO_PROXY',
};

/** The service was never reached, for a reason that waiting does not mend: exit code 78. */
export function unreachableError(fault: ConnectionFault, detail: string): MillraceError {
  return new ConfigError(fault, `the service cannot be reached: ${detail}`, { hint: `${REMEDIES[fault]}, then run the same command.` });
}

/** Every answer was an HTML page, for as long as an outage may last: exit code 78. */
export function pagesError(pages: number, forMs: number): MillraceError {
  const seconds = Math.round(forMs / 1_000);
  return new ConfigError(
    'not_the_service',
    `this does not look like the data service: for ${seconds} s it has answered with nothing but HTML pages (${pages})`,
    {
      hint: 'Check --base-url: it is the part of the address before /v1.',
    },
  );
}

/**
 * @param usedUp the quota window that is used up, in words; null when the service asked to wait
 * @param waitedMs milliseconds already waited, while every answer was throttled
 */
export function waitError(askedMs: number, waitedMs: number, maxWaitMs: number, usedUp: string | null = null): MillraceError {
  const at = `${new Date(Date.now() + askedMs).toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  const seconds = (ms: number): string => `${Math.ceil(ms / 1_000)} s`;
  const said =
    usedUp !== null
      ? `the ${usedUp} is used up until ${at}: ${seconds(askedMs)} from now, longer than limits.maxWaitMs`
      : askedMs > maxWaitMs
        ? `the service asks to wait ${seconds(askedMs)}, longer than limits.maxWaitMs`
        : `the service has said nothing but "later" for ${seconds(waitedMs)} and asks ` +
          `to wait another ${seconds(askedMs)}, together longer than limits.maxWaitMs`;
  return new MillraceError(EXIT.unavailable, 'wait_too_long', said, { hint: `Run the same command after ${at}: the job resumes.` });
}

export function outageError(ms: number, code: string, detail: string): MillraceError {
  return new MillraceError(
    EXIT.unavailable,
    'service_unavailable',
    `the service has been unavailable for ${Math.round(ms / 1_000)} s (${code}${detail === '' ? '' : `: ${detail}`})`,
    { hint: 'Run the same command when it is back: the job resumes.' },
  );
}

export function oneKindOfAnswerError(answers: number, kind: string): MillraceError {
  return new ConfigError(
    'one_kind_of_answer',
    `the first ${answers} answers were all ${kind}: this does not look like the right service, or the right input`,
    {
      hint:
        'Check --base-url (the part of the address before /v1) and the ' +
        'mapped columns. If these misses are real, set --limits.trustMisses.',
    },
  );
}
