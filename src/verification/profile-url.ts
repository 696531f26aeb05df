/** Normalises the URL of a professional profile to one key. Pure. */
import { unwrapped, visibleText, withoutMalformedScheme } from './clean-keys.ts';
import { isAscii } from './domain.ts';

const MAX_LENGTH = 2_048;
const SCHEME = /^(?:https?:)?\/\//i;

/** Sites with pages of people. `profiles.example` belongs to the sample set: a reserved name (RFC 2606) that no real site has. */
const PROFILE_HOSTS: readonly string[] = ['linkedin.com', 'profiles.example'];
/** `de.linkedin.com` (two letters of a country), `m.` and `mobile.` show the same profile as `www.linkedin.com` and `linkedin.com`. */
const SAME_SITE = /^(?:www\.)?(?:[a-z]{2}|m|mobile|touch)\.(?=linkedin\.com$)/;

/** The fast path: most URLs are normalised already, and the part after the scheme is the key. */
const PLAIN = /^https:\/\/((?:linkedin\.com\/in|profiles\.example\/in)\/[a-z\d_-]+)$/;

/** The paths of LinkedIn profiles. After a name under `/in/` comes a language or a part of the page; `/pub/` is the old form. */
const LINKEDIN_PROFILE = /^(?:\/in\/[^/]+|\/pub\/.+)/;

/**
 * Host and path in lower case without scheme, query, country and trailing slash. Null unless the URL is the page of a person on a known
 * site: companies, schools, jobs and Sales Navigator give null. Text around the URL (`<...>`, invisible characters, a broken `https//`) is
 * ignored.
 */
export function profileKey(url: string): string | null {
  if (url.length > MAX_LENGTH) return null;
  const plain = PLAIN.exec(url)?.[1];
  if (plain !== undefined) return plain;
  let rest = withoutMalformedScheme(unwrapped(visibleText(url))).replace(SCHEME, '');
  const end = rest.search(/[?#\s]/);
  if (end !== -1) rest = rest.slice(0, end);
  const slash = rest.indexOf('/');
  if (slash < 1) return null;
  const host = rest
    .slice(0, slash)
    .toLowerCase()
    .replace(/\.?(?::(?:80|443))?$/, '')
    .replace(SAME_SITE, '')
    .replace(/^www\./, '');
  if (!PROFILE_HOSTS.includes(host)) return null;
  const path = normalisedPath(decoded(rest.slice(slash)).toLowerCase());
  const own = host === 'linkedin.com' ? (LINKEDIN_PROFILE.exec(path)?.[0] ?? '') : path;
  return own === '' ? null : host + own;
}

/** NFC without leftovers of surrounding text. Repeats until nothing changes, so that normalising a key gives the same key. */
function normalisedPath(path: string): string {
  let result = path;
  for (let before = ''; result !== before;) {
    before = result;
    result = unwrapped(visibleText(composed(result)))
      .replaceAll(/\/{2,}/g, '/')
      .replace(/\/$/, '');
  }
  return result;
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
