/** What is known of an address from its spelling alone: the lists of the waterfall's second stage. */
import { domainToUnicode } from 'node:url';
import { openList, type ListName } from './lists/open-list.ts';
import { asciiReading, mixesAlphabets, withoutMarks } from './lookalike.ts';
import { registrableDomain } from './registrable.ts';
import { isOftenMeant, meantProvider } from './typo.ts';

export interface ListFindings {
  /** Certain: an address there is meant to be thrown away. */
  readonly disposable: boolean;
  /** Only wider, less careful lists say so. */
  readonly suspectedDisposable: boolean;
  /** Mail to it is forwarded to a mailbox that its owner keeps elsewhere: never disposable, never suspected. */
  readonly relay: boolean;
  readonly role: boolean;
  readonly free: boolean;
  /** The provider that the domain looks like to a reader, with letters of other alphabets or with accents, or null. */
  readonly lookalike: string | null;
  /** The whole address that was probably meant, or null. */
  readonly didYouMean: string | null;
}

/** Whether `domain` (ASCII, lower case) or a parent of it is on a list, up to what was registered: providers hand out subdomains. */
function listed(list: ListName, domain: string): boolean {
  const lines = openList(list);
  const registered = registrableDomain(domain);
  for (let name = domain; ; name = name.slice(name.indexOf('.') + 1)) {
    if (lines.has(name)) return true;
    if (name.length <= registered.length) return false;
  }
}

/** Whether `domain` (ASCII, lower case) is certainly a disposable provider's. */
export function isDisposable(domain: string): boolean {
  return listed('disposable', domain);
}

/** Whether `domain` (ASCII, lower case) is a free mailbox provider's. */
export function isFreeProvider(domain: string): boolean {
  return listed('free', domain);
}

/** Whether `domain` (ASCII, lower case) is a forwarder's or a privacy relay's. */
export function isRelay(domain: string): boolean {
  return listed('relay', domain);
}

/** Whether `domain` (ASCII, lower case) gives addresses to anyone, so that it names no employer. */
export function namesNoEmployer(domain: string): boolean {
  return isFreeProvider(domain) || isRelay(domain);
}

/** Whether a normalised local part names a function. A `+tag` says nothing about the mailbox and is left out. */
export function isRole(local: string): boolean {
  const plus = local.indexOf('+');
  return openList('role').has(plus > 0 ? local.slice(0, plus) : local);
}

/** Looks a normalised address's parts up in every list. */
export function lookUpLists(local: string, domain: string): ListFindings {
  const relay = isRelay(domain);
  const disposable = !relay && isDisposable(domain);
  const free = isFreeProvider(domain);
  const lookalike = lookedLike(domain);
  return {
    disposable,
    suspectedDisposable: !disposable && !relay && !free && listed('disposable-wide', domain),
    relay,
    role: isRole(local),
    free,
    lookalike,
    didYouMean: meant(local, domain, free || relay || disposable ? domain : (lookalike ?? meantProvider(domain) ?? domain)),
  };
}

function meant(local: string, domain: string, better: string): string | null {
  const plainer = mixesAlphabets(local) ? (asciiReading(local) ?? local) : local;
  return plainer === local && better === domain ? null : `${plainer}@${better}`;
}

/** Accents make other names of most names; of the best known ones they make traps. */
function lookedLike(domain: string): string | null {
  if (!domain.includes('xn--')) return null;
  const unicode = domainToUnicode(domain);
  const reading = asciiReading(unicode);
  if (reading !== null && isFreeProvider(reading)) return reading;
  const plain = withoutMarks(unicode);
  const bare = asciiReading(plain) ?? plain;
  return isOftenMeant(bare) ? bare : null;
}
