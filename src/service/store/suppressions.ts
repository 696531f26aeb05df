/** People who asked to be removed: known by digests alone, so that they can be recognised and nothing about them is kept. */
import { hash } from 'node:crypto';
import type { Store } from './store.ts';

/** What a person can be recognised by, as it is compared. */
export interface Traces {
  readonly emails: readonly string[];
  readonly profile: string | null;
}

/** The digest under which a suppressed address is kept. */
export function suppressionKey(email: string): Uint8Array {
  return hash('sha256', email, 'buffer');
}

/** The same of a profile's key, which cannot be taken for an address. */
export function profileSuppressionKey(profile: string): Uint8Array {
  return hash('sha256', `profile:${profile}`, 'buffer');
}

/** Whether any of a person's traces is suppressed. */
export function suppressionTest(store: Store): (traces: Traces) => boolean {
  const find = store.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ?');
  const any = store.prepare('SELECT 1 FROM suppressions LIMIT 1');
  return ({ emails, profile }) => {
    if (any.get() === undefined) return false;
    return emails.some((email) => find.get(suppressionKey(email)) !== undefined) || (profile !== null && find.get(profileSuppressionKey(profile)) !== undefined);
  };
}
