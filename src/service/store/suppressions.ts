/** People who asked to be removed: known by digests alone, so that they can be recognised and nothing about them is kept. */
import { hash } from 'node:crypto';
import { words } from '../fold.ts';
import type { Store } from './store.ts';

/** What a person can be recognised by, as it is compared; null and what is left out say nothing. */
export interface Traces {
  readonly emails?: readonly string[];
  /** A profile's key. */
  readonly profile?: string | null;
  /** E.164: numbers that are a person's alone. */
  readonly mobiles?: readonly string[];
  /** E.164: numbers that others may have as well, such as that of a switchboard. */
  readonly numbers?: readonly string[];
  /** Whatever whoever comes with it is called. */
  readonly id?: string | null;
  /** An id that somebody of another name may have as well, for files number their rows from 1. */
  readonly knownId?: string | null;
  /** Of what several may have, `wordsWith` a name. */
  readonly keyWords?: readonly string[];
}

/** Words of a name that are looked at. */
const MAX_WORDS = 20;

/** An id, or the address of a function, with each word of a name: whoever comes with it and a word of their name is them. @param nameKey folded */
export function wordsWith(key: string, nameKey: string): string[] {
  return words(nameKey).slice(0, MAX_WORDS).map((word) => `${key} ${word}`);
}

/** What an id says of whoever comes with it: with a word of a name it may be somebody else's, without any it is theirs. @param nameKey folded */
export function tracesOfId(id: string | null, nameKey: string): Traces {
  const hasName = words(nameKey).length > 0;
  return id === null ? {} : { id, knownId: hasName ? null : id, keyWords: wordsWith(id, nameKey) };
}

/** The digest under which a suppressed address is kept. */
export function suppressionKey(email: string): Uint8Array {
  return hash('sha256', email, 'buffer');
}

/** The digests of all that is known of somebody. What is no address is named by what it is, and cannot be taken for one. */
export function suppressionKeys({ emails = [], profile, mobiles = [], numbers = [], id, knownId, keyWords = [] }: Traces): Uint8Array[] {
  const named = Object.entries({ profile, id, known_id: knownId }).flatMap(([name, value]) => (typeof value === 'string' ? `${name}:${value}` : []));
  return [...emails, ...named, ...mobiles.map((number) => `mobile:${number}`), ...numbers.map((number) => `number:${number}`), ...keyWords.map((word) => `with_word:${word}`)].map(suppressionKey);
}

/** Whether any of a person's traces is suppressed. @param isAny whether anybody is; for those who ask often */
export function suppressionTest(store: Store, isAny: () => boolean = anySuppression(store)): (traces: Traces) => boolean {
  const find = store.prepare('SELECT 1 FROM suppressions WHERE email_sha256 = ?');
  return (traces) => isAny() && suppressionKeys(traces).some((key) => find.get(key) !== undefined);
}

export function anySuppression(store: Store): () => boolean {
  const any = store.prepare('SELECT 1 FROM suppressions LIMIT 1');
  return () => any.get() !== undefined;
}
