/** Reads what the text of a refusal is about, by the tables `VOCABULARY`, `POLICY_VOCABULARY` and `FAMILIES`. Pure. */
import { FAMILIES } from './families.ts';
import { POLICY_VOCABULARY } from './policy-vocabulary.ts';
import { canonical, clausesOf, withoutNoise, WORD } from './reply-words.ts';
import { VOCABULARY } from './vocabulary.ts';

/** The subjects of clauses, highest rank first. A full mailbox is a living one. */
const RANKS = ['full', 'us', 'no_mailbox', 'mailbox_disabled', 'hint', 'unavailable'] as const;

/**
 * `us`: policy, reputation, rate, the sender, the message, the server, or a passing state. `hint`: words about us that need not mean us.
 * `unavailable`: no more than "not available". null: unknown wording.
 */
export type Subject = (typeof RANKS)[number] | null;

/** The cells of a table. */
export function rowsOf(table: string): string[][] {
  return table
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(' | '));
}

/** Concepts with a name of two words. */
const TWO_WORDS = /no longer|your mail/g;
const conceptsOf = (names: string): string[] => names.replaceAll(TWO_WORDS, (name) => name.replace(' ', '-')).split(' ');

/** A letter for each concept. Clauses and families are written in these letters; `_` is a word of no concept. */
const LETTERS = new Map<string, string>();
function letterOf(concept: string): string {
  const letter = LETTERS.get(concept) ?? String.fromCodePoint(0xe000 + LETTERS.size);
  LETTERS.set(concept, letter);
  return letter;
}

const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}]/u;

/** Letters by words and by stems. Words of scripts without spaces are found within a row of letters. */
const WORDS = new Map<string, string>();
const STEMS = new Map<string, string>();
const UNSPACED_WORDS = new Map<string, string>();
/** The most words of a phrase, by its first word. */
const PHRASE_LENGTHS = new Map<string, number>();
for (const [names = '', , entries = ''] of [...rowsOf(VOCABULARY), ...rowsOf(POLICY_VOCABULARY)]) {
  const letters = conceptsOf(names).map(letterOf).join('');
  for (const entry of entries.split(', ')) {
    const phrase = canonical(entry).replace('*', '');
    if (UNSPACED.test(phrase)) UNSPACED_WORDS.set(phrase, letters);
    else (entry.endsWith('*') ? STEMS : WORDS).set(phrase, letters);
    const [first = '', ...others] = phrase.split(' ');
    PHRASE_LENGTHS.set(first, Math.max(PHRASE_LENGTHS.get(first) ?? 1, 1 + others.length));
  }
}
const SHORTEST_STEM = Math.min(...[...STEMS.keys()].map((stem) => stem.length));
const LONGEST_UNSPACED = Math.max(...[...UNSPACED_WORDS.keys()].map((word) => word.length));

/** The letters of a word or phrase. The ending of a stem is no further word. */
function lookUp(phrase: string): string | undefined {
  const exact = WORDS.get(phrase);
  if (exact !== undefined) return exact;
  for (let end = phrase.length; end >= SHORTEST_STEM && phrase[end] !== ' '; end--) {
    const letters = STEMS.get(phrase.slice(0, end));
    if (letters !== undefined) return letters;
  }
  return undefined;
}

const isWord = (phrase: string): boolean => phrase.split(' ').every((word) => UNSPACED.test(word) || lookUp(word) !== undefined);

/** The words of a row of a script without spaces, each with its letters. The longest word wins. */
function unspacedWords(row: string): [word: string, letters: string][] {
  const found: [string, string][] = [];
  for (let from = 0; from < row.length;) {
    let length = Math.min(LONGEST_UNSPACED, row.length - from);
    while (length > 1 && !UNSPACED_WORDS.has(row.slice(from, from + length))) length--;
    const word = row.slice(from, from + length);
    found.push([word, UNSPACED_WORDS.get(word) ?? '_']);
    from += length;
  }
  return found;
}

const lookUpUnspaced = (row: string): string =>
  unspacedWords(row)
    .map(([, letters]) => letters)
    .join('')
    .replaceAll(/_+/g, '_');

/** "On this server", "in virtual mailbox table": a place, not a machine that the clause is about. */
const PLACE = ((preposition, your, machine, table) => new RegExp(`${preposition}${your}?_?[${machine}${table}]+|${table}+`, 'g'))(
  letterOf('preposition'),
  letterOf('your'),
  letterOf('machine'),
  letterOf('table'),
);

function lettersOf(clause: readonly string[]): string {
  let letters = '';
  for (let from = 0; from < clause.length;) {
    const [first = ''] = clause.slice(from, from + 1);
    let count = Math.min(PHRASE_LENGTHS.get(first) ?? 1, clause.length - from);
    let found = UNSPACED.test(first) ? lookUpUnspaced(first) : lookUp(clause.slice(from, from + count).join(' '));
    while (found === undefined && count > 1) found = lookUp(clause.slice(from, from + --count).join(' '));
    letters += found ?? '_';
    from += UNSPACED.test(first) ? 1 : count;
  }
  return letters.replaceAll(letterOf('filler'), '').replaceAll(PLACE, letterOf('place'));
}

const lettersFor = (...concepts: readonly string[]): string => concepts.map(letterOf).join('');
/** Concepts that no gap of a family passes over, and those that a short gap passes over neither. */
const NO_GAP = lettersFor('sender', 'client', 'policy', 'machine', 'message', 'your-mail', 'limit', 'quota');
const NO_SHORT_GAP = `${NO_GAP}${lettersFor('denied', 'blocked', 'rejected')}`;
const SIGNS: Readonly<Record<string, string>> = {
  '...': '.*',
  '..': `[^${NO_GAP}]{0,8}?`,
  '.': `[^${NO_SHORT_GAP}]{0,2}?`,
  '^': '^',
  $: '$',
  who: `[${lettersFor('who', 'box')}]`,
  '!who': `(?!.*[${lettersFor('who', 'box')}])`,
};

function patternOf(part: string): string {
  const sign = SIGNS[part];
  if (sign !== undefined) return sign;
  if (part.startsWith('!')) return `(?!.*${letterOf(part.slice(1))})`;
  return `[${part
    .split('/')
    .map((name) => (name === 'who' ? lettersFor('who', 'box') : letterOf(name)))
    .join('')}]`;
}

const PATTERNS = rowsOf(FAMILIES).map(([meaning = '', family = '']) => {
  const parts = conceptsOf(family);
  const isOnly = parts[0] === 'only';
  return {
    meaning: meaning as (typeof RANKS)[number],
    isOnly,
    pattern: new RegExp((isOnly ? ['^', ...parts.slice(1), '$'] : parts).map(patternOf).join('')),
  };
});

/** A recipient or the sender alone before a colon: `Account status: disabled`. */
const LABEL = new RegExp(`^_?(?:[${lettersFor('who', 'box')}]+|${letterOf('sender')}+)_{0,2}$`);

/** Each part is a clause, but a label and the part behind it are one. */
function clausesOfParts(parts: readonly (readonly string[])[]): string[] {
  const clauses: string[] = [];
  for (const letters of parts.map(lettersOf)) {
    const label = clauses.at(-1);
    if (label !== undefined && LABEL.test(label)) clauses.pop();
    clauses.push(label !== undefined && LABEL.test(label) ? label + letters : letters);
  }
  return clauses;
}

/** The subject of a text: of its clause with the highest rank. @param text may hold addresses, links and host names */
export function subjectOf(text: string): Subject {
  const clauses = clausesOf(withoutNoise(text, isWord))
    .flatMap(clausesOfParts)
    .filter((letters) => letters !== '');
  const found = new Set(
    clauses.flatMap((clause) =>
      PATTERNS.filter(({ pattern, isOnly }) => (!isOnly || clauses.length === 1) && pattern.test(clause)).map(({ meaning }) => meaning),
    ),
  );
  return RANKS.find((rank) => found.has(rank)) ?? null;
}

/** The words of a text in one spelling, without addresses, links, host names and ids. */
export function plainWords(text: string): string {
  return clausesOf(withoutNoise(text, isWord)).flat(2).join(' ');
}

/** The length of the words beyond ASCII that the tables have. */
export function knownLength(text: string): number {
  let known = 0;
  for (const word of text.match(WORD) ?? []) {
    if (UNSPACED.test(word)) {
      for (const [part, letters] of unspacedWords(word)) known += letters === '_' ? 0 : part.length;
    } else if (word.length > 2 && /[^\0-\x7f]/.test(word) && lookUp(canonical(word)) !== undefined) known += word.length;
  }
  return known;
}
