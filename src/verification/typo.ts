/** Finds typos in the names of well-known providers. Pure. */
import { TYPO_DOMAINS } from './lists/typos.ts';
import { suffixOf } from './registrable.ts';

/** Providers so common, with names so long, that a name one edit away is a typo rather than another provider. */
const POPULAR_PROVIDERS = [
  'gmail.com',
  'googlemail.com',
  'hotmail.com',
  'hotmail.co.uk',
  'hotmail.fr',
  'outlook.com',
  'outlook.fr',
  'yahoo.com',
  'yahoo.co.uk',
  'yahoo.fr',
  'icloud.com',
  'protonmail.com',
  't-online.de',
  'comcast.net',
  'btinternet.com',
];

/** True for the best-known providers. */
export function isPopularProvider(domain: string): boolean {
  return POPULAR_PROVIDERS.includes(domain);
}

/** The provider that was probably meant by `domain`, or null. @param domain ASCII, lower case, not a provider itself */
export function probableProvider(domain: string): string | null {
  const known = Object.hasOwn(TYPO_DOMAINS, domain) ? TYPO_DOMAINS[domain] : undefined;
  if (known !== undefined) return known;
  // People get the first letter right; names that differ there are other names (`email.com`, `dmail.com`).
  return (
    POPULAR_PROVIDERS.find(
      (provider) => provider[0] === domain[0] && isOneEditAway(domain, provider) && !differsInCountry(domain, provider),
    ) ?? null
  );
}

/** True when only the country differs: `hotmail.gr` is Greek, not a typo of `hotmail.fr`. A missing letter (`.co`, `.ne`) is a typo. */
function differsInCountry(domain: string, provider: string): boolean {
  const [one, other] = [suffixOf(domain), suffixOf(provider)];
  return one !== null && other !== null && one.length === other.length && domain.slice(0, -one.length) === provider.slice(0, -other.length);
}

/** True for a Damerau-Levenshtein distance of 1: one letter inserted, deleted or changed, or two adjacent letters swapped. */
export function isOneEditAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false;
  let from = 0;
  while (from < a.length && a[from] === b[from]) from++;
  const restA = a.slice(from);
  const restB = b.slice(from);
  if (restA.length !== restB.length) return restA.slice(1) === restB || restB.slice(1) === restA;
  return restA.slice(1) === restB.slice(1) || (restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2));
}
