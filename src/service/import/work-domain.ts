/** Whose domain an address has: an employer's, or a mailbox provider's. Pure. */
import { normaliseEmail, splitAddress } from '../../verification/address.ts';
import { namesNoEmployer } from '../../verification/lists.ts';
import { ownText } from '../own-text.ts';

const freeProviders = new Map<string, boolean>();
const MAX_REMEMBERED = 10_000;

/** The domain of somebody's address, where it is their employer's and no mailbox provider's. */
export function workDomain(email: unknown): string | null {
  const domain = domainOfAddress(email);
  return domain === null || isFree(domain) ? null : domain;
}

/** Null: it is no address. */
export function domainOfAddress(email: unknown): string | null {
  const address = typeof email === 'string' ? normaliseEmail(email) : null;
  return address === null ? null : (splitAddress(address)?.domain ?? null);
}

/** Whether a domain is a mailbox provider's or a relay's, which names no employer. */
export function isFree(domain: string): boolean {
  let free = freeProviders.get(domain);
  if (free === undefined) {
    free = namesNoEmployer(domain);
    if (freeProviders.size >= MAX_REMEMBERED) freeProviders.clear();
    freeProviders.set(ownText(domain), free);
  }
  return free;
}
