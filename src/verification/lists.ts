/** What is known of an address from its spelling alone: the lists of the waterfall's second stage. Pure. */
import { DISPOSABLE_DOMAINS } from './lists/disposable.ts';
import { FREE_DOMAINS } from './lists/free.ts';
import { ROLE_LOCAL_PARTS } from './lists/role.ts';
import { TYPO_DOMAINS } from './lists/typos.ts';

const DISPOSABLE = new Set(DISPOSABLE_DOMAINS);
const FREE = new Set(FREE_DOMAINS);
const ROLE = new Set(ROLE_LOCAL_PARTS);
const TYPO = new Map(Object.entries(TYPO_DOMAINS));

export interface ListFindings {
  readonly disposable: boolean;
  readonly role: boolean;
  readonly free: boolean;
  /** The domain that was probably meant, or null. */
  readonly didYouMean: string | null;
}

/** Whether `domain` (ASCII, lower case) or a parent of it is a disposable provider's: they hand out subdomains too. */
export function isDisposable(domain: string): boolean {
  for (let from = 0; ;) {
    if (DISPOSABLE.has(from === 0 ? domain : domain.slice(from))) return true;
    const dot = domain.indexOf('.', from);
    if (dot === -1) return false;
    from = dot + 1;
  }
}

/** Whether `domain` (ASCII, lower case) is a free mailbox provider's, so that it names no employer. */
export function isFreeProvider(domain: string): boolean {
  return FREE.has(domain);
}

/** Whether a normalised local part names a function. A `+tag` says nothing about the mailbox and is left out. */
export function isRole(local: string): boolean {
  const plus = local.indexOf('+');
  return ROLE.has(plus > 0 ? local.slice(0, plus) : local);
}

/** Looks a normalised address's parts up in every list. */
export function lookUpLists(local: string, domain: string): ListFindings {
  return {
    disposable: isDisposable(domain),
    role: isRole(local),
    free: isFreeProvider(domain),
    didYouMean: TYPO.get(domain) ?? null,
  };
}
