/** Words of which a field holds only some, as other services and CRMs have them. Pure. */
import { cleanValue } from '../field-types.ts';
import { isEmpty, NO_VALUE } from '../values.ts';

interface Words {
  /** By the word of a file, as it is kept of any other field, that of the records; null: it says nothing. */
  readonly byWord: ReadonlyMap<string, string | null>;
  /** Whether these are all that there are: any other says nothing of use. */
  readonly areAll: boolean;
}

/** Verification, `verified` of an answer and what an address is worth go by the first two; the words of the others are their owners'. */
const WORDS: Readonly<Record<string, Words>> = {
  email_status: wordsOf({ verified: ['valid', 'deliverable'], risky: ['catch_all', 'catchall', 'accept_all', 'acceptall'], unverified: ['not_verified', 'guessed', 'extrapolated'], bounced: ['invalid', 'undeliverable', 'hard_bounced', 'hard_bounce'] }, true, ['unknown']),
  email_type: wordsOf({ work: ['business', 'professional', 'company', 'corporate'], personal: ['private', 'home'] }, true, ['unknown', 'other']),
  seniority: wordsOf({ c_suite: ['c_level', 'csuite', 'cxo'], vp: ['vice_president'] }, false, []),
};

function wordsOf(known: Readonly<Record<string, readonly string[]>>, areAll: boolean, saysNothing: readonly string[]): Words {
  return { byWord: new Map([...Object.entries(known).flatMap(([word, others]) => [word, ...others].map((one) => [one, word] as const)), ...saysNothing.map((one) => [one, null] as const)]), areAll };
}

/** Puts the words of the records into the place of a row's own. @param values they are changed */
export function useKnownWords(values: Record<string, unknown>): void {
  for (const field in WORDS) {
    const value = values[field];
    if (!isEmpty(value)) values[field] = knownWord(value, WORDS[field] as Words);
  }
}

function knownWord(value: unknown, { byWord, areAll }: Words): unknown {
  const word = cleanValue('word', value);
  const known = typeof word === 'string' ? byWord.get(word) : undefined;
  if (known !== undefined) return known ?? undefined;
  return areAll ? NO_VALUE : value;
}
