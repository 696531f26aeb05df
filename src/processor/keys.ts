/** Which key a record is looked up by. Pure. */
import { normaliseEmail } from '../verification/address.ts';
import { normaliseDomain } from '../verification/domain.ts';

export type EnrichLookup = { readonly by: 'email' | 'domain'; readonly key: string };

/** Longer than any address can be, quoted or not; what is longer is not sent. */
const LONGEST_SENT_ADDRESS = 1_024;

/** `enrich`: by e-mail when the record has a plausible one, else by domain; else why not. */
export function enrichKey(email: string, domain: string): EnrichLookup | 'bad_email' | 'no_key' {
  const mailbox = email === '' ? null : normaliseEmail(email);
  if (mailbox !== null) return { by: 'email', key: mailbox };
  const host = domain === '' ? null : normaliseDomain(domain);
  if (host !== null) return { by: 'domain', key: host };
  return email.trim() === '' ? 'no_key' : 'bad_email';
}

/** `verify`: a bad address is still asked about, trimmed and in lower case; null when there is none. */
export function verifyKey(email: string): string | null {
  if (email === '') return null;
  const mailbox = normaliseEmail(email);
  if (mailbox !== null) return mailbox;
  // Half a surrogate pair (JSON can carry one) would come back from the service and the ledger as another character.
  const text = email.trim().toLowerCase().toWellFormed();
  return text === '' || text.length > LONGEST_SENT_ADDRESS ? null : text;
}
