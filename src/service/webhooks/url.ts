/** Which addresses may be told anything. What a name leads to is looked at when it is called (`reach.ts`). */
import { isIP } from 'node:net';
import { ServiceError } from '../errors.ts';
import type { Lookupable } from '../validate.ts';
import { isMetadata } from './metadata.ts';
import { isReachable } from './reach.ts';

/** Characters. */
export const MAX_URL = 2_048;
/** Names that are never somebody's on the Internet. */
const LOCAL = /(?:^|\.)(?:localhost|local|internal|home\.arpa|onion)$/;

/** The address as it is called. @throws ServiceError `validation_failed` naming `pointer`, unless it is an HTTPS address that may be public; in development HTTP and addresses of one's own are fine */
export function checkWebhookUrl(url: string, isDevelopment: boolean, pointer = '/webhook_url'): string {
  const problem = urlProblem(url, isDevelopment);
  if (problem === null) return calledUrl(url);
  const detail = `${pointer.slice(1)} ${problem.detail}`;
  throw new ServiceError('validation_failed', detail, { errors: [{ pointer, code: problem.code, detail }] });
}

/** The address in a field of a body, as it is called; null: there is none, or what is wrong with it is told to the reader. */
export function readWebhookUrl(reader: Lookupable, isDevelopment: boolean, field: 'url' | 'webhook_url' = 'webhook_url'): string | null {
  const given = reader.text(field);
  const problem = given === null ? null : urlProblem(given, isDevelopment);
  if (problem !== null) reader.fail(`/${field}`, problem.code, `${field} ${problem.detail}`);
  return given === null || problem !== null ? null : calledUrl(given);
}

export interface UrlProblem {
  readonly code: 'too_long' | 'format' | 'credentials' | 'insecure' | 'private_address';
  readonly detail: string;
}

/** What is wrong with an address, as far as it shows; null: nothing. */
export function urlProblem(given: string, isDevelopment: boolean): UrlProblem | null {
  if (given.length > MAX_URL) return { code: 'too_long', detail: `is longer than ${MAX_URL} characters` };
  // A URL parser would leave blanks and line ends out without a word.
  if (/[^\x21-\x7e]/.test(given)) return { code: 'format', detail: 'has characters that a URL has in other forms alone: xn--... in a name, %.. elsewhere' };
  const url = /^https?:\/\/[^/]/i.test(given) ? URL.parse(given) : null;
  if (url === null) return { code: 'format', detail: 'is no HTTPS address, such as https://hooks.acme.example/millrace' };
  if (url.username !== '' || url.password !== '') return { code: 'credentials', detail: 'has a user name or password in it; deliveries are signed instead' };
  if (isMetadata(hostOf(url))) return { code: 'private_address', detail: 'is where a cloud tells a machine its credentials; nothing is sent there' };
  if (isDevelopment) return null;
  if (url.protocol !== 'https:') return { code: 'insecure', detail: 'is not HTTPS, which is sent to only by `serve --development`' };
  return isPublicName(hostOf(url)) ? null : { code: 'private_address', detail: 'is no address on the Internet; those of your own are sent to only by `serve --development`' };
}

/** In which form it is called: names in ASCII, numbers as addresses are written, no fragment. */
function calledUrl(given: string): string {
  const url = new URL(given);
  url.hash = '';
  return url.href;
}

/** A host as it is looked up: without the brackets of IPv6, and without the root's dot. */
export function hostOf({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}

function isPublicName(host: string): boolean {
  return isIP(host) === 0 ? host.includes('.') && !LOCAL.test(host) : isReachable(host);
}
