/** Stores mail events: of each address the newest delivery and the newest bounce. */
import { normaliseEmail } from '../../../verification/address.ts';
import { textOrNull } from '../../http/values.ts';
import type { UpsertResult } from './upsert-result.ts';
import { suppressionTest } from '../identity/suppressions.ts';
import type { Store } from '../store.ts';

export interface MailEvent {
  /** As reported; it may be no address. */
  readonly email: unknown;
  /** `bounced`: permanently, because the mailbox does not exist. */
  readonly kind: 'delivered' | 'bounced';
  /** Epoch milliseconds. */
  readonly atMs: number;
}

/** Stores one event, within a transaction. The order of events does not count, and a repeated event changes nothing. */
export function deliveryWriter(store: Store): (event: MailEvent) => UpsertResult {
  const isSuppressed = suppressionTest(store);
  const find = store.prepare('SELECT delivered_at, bounced_at FROM deliveries WHERE email = ?');
  const put = store.prepare(
    'INSERT INTO deliveries (email, delivered_at, bounced_at) VALUES (?, ?, ?) ON CONFLICT (email) DO UPDATE SET delivered_at = ' +
      'excluded.delivered_at, bounced_at = excluded.bounced_at',
  );
  return ({ email: given, kind, atMs }) => {
    const text = textOrNull(given);
    const email = normaliseEmail(text ?? '');
    if (email === null)
      return {
        kind: 'rejected',
        code: text === null ? 'no_identity' : 'bad_email',
        detail: 'a delivery needs the address that the mail was for, such as jane@acme.example',
      };
    if (isSuppressed({ emails: [email] }))
      return { kind: 'rejected', code: 'suppressed', detail: 'the person with this address asked to be removed' };
    const before = find.get(email);
    const known = {
      delivered: before?.['delivered_at'] as number | null | undefined,
      bounced: before?.['bounced_at'] as number | null | undefined,
    };
    if (atMs <= (known[kind] ?? -Infinity)) return { kind: 'put', change: 'same', dropped: [] };
    const newest = { ...known, [kind]: atMs };
    put.run(email, newest.delivered ?? null, newest.bounced ?? null);
    return { kind: 'put', change: before === undefined ? 'new' : 'fields', dropped: [] };
  };
}
