/** Fields with a fixed set of words: replaces synonyms of other services and CRMs. Pure. */
import { cleanValue } from '../../records/field-types.ts';
import { NO_VALUE } from '../../http/values.ts';
import { isBlank } from '../../records/empty-words.ts';

interface Words {
  /** Cleaned words of files, with the word of the records for each; null when a word says nothing. */
  readonly byWord: ReadonlyMap<string, string | null>;
  /** Whether the set is closed: any other word is dropped. */
  readonly isClosed: boolean;
}

/** The first two decide about verification, `verified` in an answer, and the price of an address. Other fields keep unknown words. */
const WORDS: Readonly<Record<string, Words>> = {
  email_status: wordsOf(
    {
      verified: ['valid', 'deliverable'],
      risky: ['catch_all', 'catchall', 'accept_all', 'acceptall'],
      unverified: ['not_verified', 'guessed', 'extrapolated'],
      bounced: ['invalid', 'undeliverable', 'hard_bounced', 'hard_bounce'],
    },
    true,
    ['unknown'],
  ),
  email_type: wordsOf({ work: ['business', 'professional', 'company', 'corporate'], personal: ['private', 'home'] }, true, [
    'unknown',
    'other',
  ]),
  seniority: wordsOf({ c_suite: ['c_level', 'csuite', 'cxo'], vp: ['vice_president'] }, false, []),
};

function wordsOf(known: Readonly<Record<string, readonly string[]>>, isClosed: boolean, meaningless: readonly string[]): Words {
  return {
    byWord: new Map([
      ...Object.entries(known).flatMap(([word, others]) => [word, ...others].map((one) => [one, word] as const)),
      ...meaningless.map((one) => [one, null] as const),
    ]),
    isClosed,
  };
}

/** Replaces a row's words by those of the records. @param values is changed in place */
export function replaceSynonyms(values: Record<string, unknown>): void {
  for (const field in WORDS) {
    const value = values[field];
    if (!isBlank(value)) values[field] = canonicalWord(value, WORDS[field] as Words);
  }
}

function canonicalWord(value: unknown, { byWord, isClosed }: Words): unknown {
  const word = cleanValue('word', value);
  const known = typeof word === 'string' ? byWord.get(word) : undefined;
  if (known !== undefined) return known ?? undefined;
  return isClosed ? NO_VALUE : value;
}
