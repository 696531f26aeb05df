/** After an erasure: what the service remembers of its answers, without those who were erased since. */
import { transaction } from '../../sqlite/transaction.ts';
import { answerOf } from '../idempotency.ts';
import { erasedSince } from './erased-since.ts';
import { cutVerification, pack, toRow } from './verification-rows.ts';
import type { Store } from './store.ts';

/**
 * Drops answers under an idempotency key that name them, and takes them out of asynchronous verifications; what cannot be read is dropped. It is read without a lock, so that a service goes
 * on meanwhile: what that writes after the erasure it looks through itself.
 */
export function forgetAnswers(store: Store): void {
  const erased = erasedSince(store);
  const scopes: Uint8Array[] = [];
  for (const row of store.prepare("SELECT scope, status, kind, payload, at FROM idempotency WHERE kind <> 'again'").iterate()) {
    const answer = readable(answerOf, row);
    if (answer === null || (answer.kind !== 'again' && erased.text(answer.text, row['at'] as number))) scopes.push(row['scope'] as Uint8Array);
  }
  const ids: string[] = [];
  for (const found of store.prepare('SELECT * FROM verifications').iterate()) {
    const row = readable(toRow, found);
    if (row === null || cutVerification(row, erased) !== row) ids.push(found['id'] as string);
  }
  if (scopes.length + ids.length > 0) transaction(store, () => forget(store, scopes, ids));
}

function forget(store: Store, scopes: readonly Uint8Array[], ids: readonly string[]): void {
  const erased = erasedSince(store);
  const dropAnswer = store.prepare('DELETE FROM idempotency WHERE scope = ?');
  const select = store.prepare('SELECT * FROM verifications WHERE id = ?');
  const drop = store.prepare('DELETE FROM verifications WHERE id = ?');
  const update = store.prepare('UPDATE verifications SET request = ?, results = ? WHERE id = ?');
  for (const scope of scopes) dropAnswer.run(scope);
  for (const id of ids) {
    // It may have gone on since it was looked at.
    const found = select.get(id);
    if (found === undefined) continue;
    const row = readable(toRow, found);
    if (row === null) {
      drop.run(id);
      continue;
    }
    const left = cutVerification(row, erased);
    update.run(pack(left.request), pack(left.results), id);
  }
}

/** What a row says; null: it is damaged, and nobody can tell whom it names. That must not keep the others from being erased. */
function readable<T>(read: (row: Record<string, unknown>) => T, row: Record<string, unknown>): T | null {
  try {
    return read(row);
  } catch {
    return null;
  }
}
