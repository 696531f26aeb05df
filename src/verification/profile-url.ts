/** Addresses of professional profiles as keys: one form for all the ways in which one is written. Pure. */
import { unwrapped, visibleText, withoutSpoiltScheme } from './clean-keys.ts';
import { isAscii } from './domain.ts';

const MAX_LENGTH = 2_048;
const SCHEME = /^(?:https?:)?\/\//i;

/** The sites whose pages are people's. `profiles.example` is the sample set's: a reserved name (RFC 2606), which no site can have. */
const PROFILE_HOSTS: readonly string[] = ['linkedin.com', 'profiles.example'];
/** `de.linkedin.com` (two letters of a country), `m.` and `mobile.` show the same profile as `www.linkedin.com` and `linkedin.com`. */
const SAME_SITE = /^(?:www\.)?(?:[a-z]{2}|m|mobile|touch)\.(?=linkedin\.com$)/;

/** As most are written: what is behind the scheme is the key. */
const PLAIN = /^https:\/\/((?:linkedin\.com\/in|profiles\.example\/in)\/[a-z\d_-]+)$/;

/** Where profiles are on LinkedIn. What follows a name under `/in/` is a language or a part of the same page; `/pub/` is the form of before. */
const LINKEDIN_PROFILE = /^(?:\/in\/[^/]+|\/pub\/.+)/;

/**
 * Host and path in lower case without scheme, query, country and trailing slash. Null when it is no address of a person's page on a known site:
 * pages of companies, schools and jobs are none, nor those of Sales Navigator, whose names only its subscribers can resolve.
 * What surrounds the address (`<...>`, invisible characters, a spoilt `https//`) does not count.
 */
export function profileKey(url: string): string | null {
  if (url.length > MAX_LENGTH) return null;
  const plain = PLAIN.exec(url)?.[1];
  if (plain !== undefined) return plain;
  let rest = withoutSpoiltScheme(unwrapped(visibleText(url))).replace(SCHEME, '');
  const end = rest.search(/[?#\s]/);
  if (end !== -1) rest = rest.slice(0, end);
  const slash = rest.indexOf('/');
  if (slash < 1) return null;
  const host = rest.slice(0, slash).toLowerCase().replace(/\.?(?::(?:80|443))?$/, '').replace(SAME_SITE, '').replace(/^www\./, '');
  if (!PROFILE_HOSTS.includes(host)) return null;
  const path = tidied(decoded(rest.slice(slash)).toLowerCase());
  const own = host === 'linkedin.com' ? (LINKEDIN_PROFILE.exec(path)?.[0] ?? '') : path;
  return own === '' ? null : host + own;
}

/** NFC, and nothing at its end that what surrounds an address may have left there: its key must be a key of its own. */
function tidied(path: string): string {
  let tidy = path;
  for (let before = ''; tidy !== before; ) {
    before = tidy;
    tidy = unwrapped(visibleText(composed(tidy))).replaceAll(/\/{2,}/g, '/').replace(/\/$/, '');
  }
  return tidy;
}

function composed(path: string): string {
  return isAscii(path) ? path : path.normalize('NFC');
}

function decoded(path: string): string {
  if (!path.includes('%')) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
