/** What became of mails, into the store: of each mailbox the newest delivery and the newest bounce, and nothing more. */
import { normaliseEmail } from '../../verification/address.ts';
import { textOrNull } from '../values.ts';
import type { Put } from './put.ts';
import { suppressionTest } from './suppressions.ts';
import type { Store } from './store.ts';

export interface MailEvent {
  /** As it came: it may be no address. */
  readonly email: unknown;
  /** `bounced`: for good, for want of the mailbox. */
  readonly kind: 'delivered' | 'bounced';
  /** Epoch milliseconds. */
  readonly atMs: number;
}

/** Puts one event; within a transaction. The order of events makes no difference, and one that is put again changes nothing. */
export function deliveryWriter(store: Store): (event: MailEvent) => Put {
  const isSuppressed = suppressionTest(store);
  const find = store.prepare('SELECT delivered_at, bounced_at FROM deliveries WHERE email = ?');
  const put = store.prepare('INSERT INTO deliveries (email, delivered_at, bounced_at) VALUES (?, ?, ?) ON CONFLICT (email) DO UPDATE SET delivered_at = excluded.delivered_at, bounced_at = excluded.bounced_at');
  return ({ email: given, kind, atMs }) => {
    const text = textOrNull(given);
    const email = normaliseEmail(text ?? '');
    if (email === null) return { kind: 'rejected', code: text === null ? 'no_identity' : 'bad_email', detail: 'a delivery needs the address that the mail was for, such as jane@acme.example' };
    if (isSuppressed({ emails: [email] })) return { kind: 'rejected', code: 'suppressed', detail: 'the person with this address asked to be removed' };
    const before = find.get(email);
    const known = { delivered: before?.['delivered_at'] as number | null | undefined, bounced: before?.['bounced_at'] as number | null | undefined };
    if (atMs <= (known[kind] ?? -Infinity)) return { kind: 'put', change: 'same', dropped: [] };
    const newest = { ...known, [kind]: atMs };
    put.run(email, newest.delivered ?? null, newest.bounced ?? null);
    return { kind: 'put', change: before === undefined ? 'new' : 'fields', dropped: [] };
  };
}
