/** Checks the service's address once, so that every later error can name it without a second thought. */
import { ConfigError } from '../util/errors.ts';

export interface BaseUrl {
  /** `https://api.example.com`, with the port when it is not the scheme's own. */
  readonly origin: string;
  /** '' or `/prefix`, without a trailing slash. */
  readonly prefix: string;
  readonly protocol: 'http:' | 'https:';
  /** Without brackets. */
  readonly hostname: string;
}

const HINT = 'Give the address in front of /v1, such as https://api.example.com.';

/** @throws ConfigError `bad_base_url`: not http(s), or with credentials, query or fragment. Never prints a password. */
export function parseBaseUrl(text: string): BaseUrl {
  const url = URL.canParse(text) ? new URL(text) : null;
  // A text that does not parse may have a password: it is shown only without an @.
  const shown = url === null ? (text.includes('@') ? 'the address' : JSON.stringify(text.slice(0, 200))) : `${url.protocol}//${url.host}`;
  if (url === null) throw bad(`baseUrl: ${shown} is not a URL`);
  const { protocol } = url;
  if (protocol !== 'http:' && protocol !== 'https:') throw bad(`baseUrl: expected http or https, got ${JSON.stringify(protocol)}`);
  if (url.username !== '' || url.password !== '') {
    throw bad(`baseUrl: ${shown} carries credentials, and an address is no place for them`, 'The API key comes from MILLRACE_API_KEY.');
  }
  if (url.search !== '' || url.hash !== '') throw bad(`baseUrl: ${shown} carries a query or fragment`);
  return {
    origin: url.origin,
    prefix: url.pathname.replace(/\/+$/, ''),
    protocol,
    hostname: url.hostname.replace(/^\[(.+)\]$/, '$1'),
  };
}

function bad(message: string, hint = HINT): ConfigError {
  return new ConfigError('bad_base_url', message, { hint });
}
