/** Addresses of professional profiles as keys: one form for all the ways in which one is written. Pure. */
import { isAscii } from './domain.ts';

const MAX_LENGTH = 2_048;
const SCHEME = /^(?:https?:)?\/\//i;
/** `de.linkedin.com`, `www.linkedin.com` and `linkedin.com` show the same profile. */
const REGIONAL = /^(?:[a-z]{2,3}|www)\.(?=linkedin\.com$)/;

/** As most are written: what is behind the scheme is the key. */
const PLAIN = /^https:\/\/(?!www\.|[a-z]{2,3}\.linkedin\.com\/)[a-z\d-]+(?:\.[a-z\d-]+)+(?:\/[a-z\d_.~-]+)+$/;

/** What is there beside profiles: pages of companies and schools, of jobs and groups, and where profiles are without one. */
const NOBODYS = /^linkedin\.com\/(?:(?:company|school|showcase|jobs|feed|groups|sales\/company)(?:\/|$)|(?:in|pub)$)/;

/** Host and path in lower case without scheme, query, country and trailing slash; null when there is no host with a path in it, and for a page that is known to be no person's. */
export function profileKey(url: string): string | null {
  if (url.length > MAX_LENGTH) return null;
  const key = pageKey(url);
  return key !== null && key.startsWith('linkedin.com/') && NOBODYS.test(key) ? null : key;
}

function pageKey(url: string): string | null {
  if (PLAIN.test(url)) return url.slice('https://'.length);
  let rest = url.trim().replace(SCHEME, '');
  const end = rest.search(/[?#\s]/);
  if (end !== -1) rest = rest.slice(0, end);
  const slash = rest.indexOf('/');
  if (slash < 1) return null;
  const host = rest.slice(0, slash).toLowerCase().replace(REGIONAL, '').replace(/^www\./, '');
  if (!/^[^\s@:]+\.[^\s@:.]+$/.test(host)) return null;
  const path = composed(decoded(rest.slice(slash)).toLowerCase()).replace(/(?<!\/)\/+$/, '');
  return path === '' ? null : host + path;
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
