/** Slips of the finger in the names of well-known providers. Pure. */
import { TYPO_DOMAINS } from './lists/typos.ts';
import { suffixOf } from './registrable.ts';

/** Providers whose names are long enough, and used enough, for one wrong letter to be a slip rather than another name. */
const OFTEN_MEANT = ['gmail.com', 'googlemail.com', 'hotmail.com', 'hotmail.co.uk', 'hotmail.fr', 'outlook.com', 'outlook.fr', 'yahoo.com', 'yahoo.co.uk', 'yahoo.fr', 'icloud.com', 'protonmail.com', 't-online.de', 'comcast.net', 'btinternet.com'];

/** Whether `domain` is one of the providers that are best known. */
export function isOftenMeant(domain: string): boolean {
  return OFTEN_MEANT.includes(domain);
}

/** The provider that `domain` (ASCII, lower case, itself no provider) was probably meant to be, or null. */
export function meantProvider(domain: string): string | null {
  const known = Object.hasOwn(TYPO_DOMAINS, domain) ? TYPO_DOMAINS[domain] : undefined;
  if (known !== undefined) return known;
  // People get the first letter right; names that differ there are other names (`email.com`, `dmail.com`).
  return OFTEN_MEANT.find((provider) => provider[0] === domain[0] && isOneSlipAway(domain, provider) && !isElsewhere(domain, provider)) ?? null;
}

/** Whether the two differ in the country alone: `hotmail.gr` is for Greeks, not for French people who mistype. A letter that is missing (`.co`, `.ne`) is a slip all the same. */
function isElsewhere(domain: string, provider: string): boolean {
  const [one, other] = [suffixOf(domain), suffixOf(provider)];
  return one !== null && other !== null && one.length === other.length && domain.slice(0, -one.length) === provider.slice(0, -other.length);
}

/** Whether one letter too many, too few or wrong, or two neighbours in the wrong order, make `a` of `b` (Damerau-Levenshtein distance 1). */
export function isOneSlipAway(a: string, b: string): boolean {
  if (Math.abs(a.length - b.length) > 1 || a === b) return false;
  let from = 0;
  while (from < a.length && a[from] === b[from]) from++;
  const restA = a.slice(from);
  const restB = b.slice(from);
  if (restA.length !== restB.length) return restA.slice(1) === restB || restB.slice(1) === restA;
  return restA.slice(1) === restB.slice(1) || (restA[0] === restB[1] && restA[1] === restB[0] && restA.slice(2) === restB.slice(2));
}
