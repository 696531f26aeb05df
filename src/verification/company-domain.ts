/** Finds the domain that names a company. Pages of networks, shorteners and mailbox providers name none. Reads the lists on first use. */
import { domainIn } from './clean-keys.ts';
import { openList } from './lists/open-list.ts';
import { DIRECTORY_HOSTS, PAGE_HOSTS } from './lists/page-hosts.ts';

/** A path below the host of a URL. */
const PATH = /^[^\\/?#\s]+[\\/]+[^\\/?#\s]/;
const SCHEME = /^(?:[a-z][a-z\d+.-]*:)?[\\/]{2}/i;

/** The first domain of a company in a text, normalised as by `normaliseDomain`; null where the text has only other pages. */
export function companyDomainIn(text: string): string | null {
  return domainIn(text, isCompanyDomain);
}

/** @param domain as `normaliseDomain` writes it @param given the URL or the domain that it was read from */
function isCompanyDomain(domain: string, given: string): boolean {
  if (openList('free').has(domain)) return false;
  const hasPath = PATH.test(given.trim().replace(SCHEME, ''));
  for (let host = domain; host.includes('.'); host = host.slice(host.indexOf('.') + 1))
    if (PAGE_HOSTS.has(host) || (hasPath && DIRECTORY_HOSTS.has(host))) return false;
  return true;
}
