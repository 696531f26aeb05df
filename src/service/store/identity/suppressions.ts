/** Suppressions: digests of erased people's identifiers, so that they are recognised and nothing else about them is stored. */
import { hash } from 'node:crypto';
import { words } from '../../records/normalise.ts';
import type { Store } from '../store.ts';

/** Identifiers of a person, normalised. Null and missing ones do not count. */
export interface Traces {
  readonly emails?: readonly string[];
  /** The key of a profile. */
  readonly profile?: string | null;
  /** E.164, of one person alone. */
  readonly mobiles?: readonly string[];
  /** E.164, possibly shared, such as that of a switchboard. */
  readonly numbers?: readonly string[];
  /** An id that identifies the person under any name. */
  readonly id?: string | null;
  /** An id that a person with another name may have too, because files number their rows from 1. */
  readonly knownId?: string | null;
  /** Shared keys combined with the words of a name (`keyWithNameWords`). */
  readonly keyWords?: readonly string[];
}

/** Words of a name that count. */
const MAX_WORDS = 20;

/**
 * A shared key, such as an id or a role address, combined with each word of a name: a report with the key and one of the words is the same
 * person.
 * @param nameKey normalised
 */
export function keyWithNameWords(key: string, nameKey: string): string[] {
  return words(nameKey)
    .slice(0, MAX_WORDS)
    .map((word) => `${key} ${word}`);
}

/**
 * The traces of an id. With a name, the id may be another person's too; without one, it identifies the person alone.
 * @param nameKey normalised
 */
export function tracesOfId(id: string | null, nameKey: string): Traces {
  const hasName = words(nameKey).length > 0;
  return id === null ? {} : { id, knownId: hasName ? null : id, keyWords: keyWithNameWords(id, nameKey) };
}

/** The digest of an address. */
export function suppressionKey(email: string): Uint8Array {
  return hash('sha256', email, 'buffer');
}

/** The digests of all traces. A prefix keeps other identifiers apart from addresses. */
export function suppressionKeys({ emails = [], profile, mobiles = [], numbers = [], id, knownId, keyWords = [] }: Traces): Uint8Array[] {
  const named = Object.entries({ profile, id, known_id: knownId }).flatMap(([name, value]) =>
    typeof value === 'string' ? `${name}:${value}` : [],
  );
  return [
    ...emails,
    ...named,
    ...mobiles.map((number) => `mobile:${number}`),
    ...numbers.map((number) => `number:${number}`),
    ...keyWords.map((word) => `with_word:${word}`),
  ].map(suppressionKey);
}

/** Whether any of a person's traces is suppressed. @param isAny whether the store has any suppression, cached by frequent callers */
export function suppressionTest(store: Store, isAny: () => boolean = anySuppression(store)): (traces: Traces) => boolean {
  const find = store.books.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ?');
  return (traces) => isAny() && suppressionKeys(traces).some((key) => find.get(key) !== undefined);
}

export function anySuppression(store: Store): () => boolean {
  const any = store.books.prepare('SELECT 1 FROM suppressions LIMIT 1');
  return () => any.get() !== undefined;
}
