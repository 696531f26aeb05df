/** The facts about an address that its spelling shows: the lists of the waterfall's second stage. */
import { domainToUnicode } from 'node:url';
import { openList, type ListName } from './lists/open-list.ts';
import { asciiReading, mixesAlphabets, withoutMarks } from './lookalike.ts';
import { registrableDomain } from './registrable.ts';
import { isPopularProvider, probableProvider } from './typo.ts';

export interface ListFindings {
  /** On the strict list of disposable providers. */
  readonly disposable: boolean;
  /** Only on wider, less reliable lists of disposable providers. */
  readonly suspectedDisposable: boolean;
  /** Mail is forwarded to the owner's mailbox elsewhere. A relay is never disposable or suspected. */
  readonly relay: boolean;
  readonly role: boolean;
  readonly free: boolean;
  /** The provider that the domain looks like to a reader, with letters of other alphabets or with accents, or null. */
  readonly lookalike: string | null;
  /** The whole address that was probably meant, or null. */
  readonly didYouMean: string | null;
}

/** Whether `domain` (ASCII, lower case) or a parent up to the registered domain is listed, because providers hand out subdomains. */
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
  const lookalike = imitatedProvider(domain);
  return {
    disposable,
    suspectedDisposable: !disposable && !relay && !free && listed('disposable-wide', domain),
    relay,
    role: isRole(local),
    free,
    lookalike,
    didYouMean: meant(local, domain, free || relay || disposable ? domain : (lookalike ?? probableProvider(domain) ?? domain)),
  };
}

function meant(local: string, domain: string, better: string): string | null {
  const plainer = mixesAlphabets(local) ? (asciiReading(local) ?? local) : local;
  return plainer === local && better === domain ? null : `${plainer}@${better}`;
}

/** An accent usually makes another valid name, but an accented name of a well-known provider is a trap. */
function imitatedProvider(domain: string): string | null {
  if (!domain.includes('xn--')) return null;
  const unicode = domainToUnicode(domain);
  const reading = asciiReading(unicode);
  if (reading !== null && isFreeProvider(reading)) return reading;
  const plain = withoutMarks(unicode);
  const bare = asciiReading(plain) ?? plain;
  return isPopularProvider(bare) ? bare : null;
}
