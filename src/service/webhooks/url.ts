/** Checks of webhook URLs without DNS. Each attempt also checks the resolved addresses (`ssrf-guard.ts`). */
import { isIP } from 'node:net';
import { ServiceError } from '../http/problem.ts';
import type { Lookupable } from '../http/body-reader.ts';
import { isMetadata } from './metadata.ts';
import { isPublicTarget } from './ssrf-guard.ts';

/** The longest URL, characters. */
export const MAX_URL = 2_048;
/** Domain endings that do not exist in the public DNS. */
const LOCAL = /(?:^|\.)(?:localhost|local|internal|home\.arpa|onion)$/;

/**
 * The URL in its normalised form.
 * @throws ServiceError `validation_failed` naming `pointer`, unless it is an HTTPS URL that may be public. In development HTTP and private
 * addresses are allowed, too.
 */
export function checkWebhookUrl(url: string, isDevelopment: boolean, pointer = '/webhook_url'): string {
  const problem = urlProblem(url, isDevelopment);
  if (problem === null) return normalisedUrl(url);
  const detail = `${pointer.slice(1)} ${problem.detail}`;
  throw new ServiceError('validation_failed', detail, { errors: [{ pointer, code: problem.code, detail }] });
}

/** The URL in a field of a body, in its normalised form; null when it is missing or invalid. The reader records an invalid one. */
export function readWebhookUrl(reader: Lookupable, isDevelopment: boolean, field: 'url' | 'webhook_url' = 'webhook_url'): string | null {
  const given = reader.text(field);
  const problem = given === null ? null : urlProblem(given, isDevelopment);
  if (problem !== null) reader.fail(`/${field}`, problem.code, `${field} ${problem.detail}`);
  return given === null || problem !== null ? null : normalisedUrl(given);
}

interface UrlProblem {
  readonly code: 'too_long' | 'format' | 'credentials' | 'insecure' | 'private_address';
  readonly detail: string;
}

/** The first problem of a URL; null when it is allowed. */
export function urlProblem(given: string, isDevelopment: boolean): UrlProblem | null {
  if (given.length > MAX_URL) return { code: 'too_long', detail: `is longer than ${MAX_URL} characters` };
  // The URL parser would silently drop blanks and line ends.
  if (/[^\x21-\x7e]/.test(given))
    return { code: 'format', detail: 'has characters that a URL has in other forms alone: xn--... in a name, %.. elsewhere' };
  const url = /^https?:\/\/[^/]/i.test(given) ? URL.parse(given) : null;
  if (url === null) return { code: 'format', detail: 'is no HTTPS address, such as https://hooks.acme.example/millrace' };
  if (url.username !== '' || url.password !== '')
    return { code: 'credentials', detail: 'has a user name or password in it; deliveries are signed instead' };
  if (isMetadata(hostOf(url)))
    return { code: 'private_address', detail: 'is where a cloud tells a machine its credentials; nothing is sent there' };
  if (isDevelopment) return null;
  if (url.protocol !== 'https:') return { code: 'insecure', detail: 'is not HTTPS, which is sent to only by `serve --development`' };
  return isPublicName(hostOf(url))
    ? null
    : { code: 'private_address', detail: 'is no address on the Internet; those of your own are sent to only by `serve --development`' };
}

/** The normalised form: names in ASCII, IP addresses in canonical notation, no fragment. */
function normalisedUrl(given: string): string {
  const url = new URL(given);
  url.hash = '';
  return url.href;
}

/** The host for a DNS lookup: without the brackets of IPv6 and without the final dot. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

function isPublicName(host: string): boolean {
  return isIP(host) === 0 ? host.includes('.') && !LOCAL.test(host) : isPublicTarget(host);
}
