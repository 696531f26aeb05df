/** Reads the key that a column's name means, in any of the languages of `column-words.ts`. Pure. */
import {
  COMPANY_WORDS,
  KEY_WORDS,
  MOBILE_WORDS,
  NAME_WORDS,
  NEUTRAL_WORDS,
  PERSONAL_WORDS,
  PREFIX_WORDS,
  PROFILE_WORDS,
  SECONDARY_WORDS,
  type KeyWord,
} from './column-words.ts';

/** A name that is not on the list of aliases, and how far behind the aliases it stands: 0 is best. */
export interface NameReading {
  readonly key: KeyWord;
  readonly behind: number;
}

/** Letters that decompose into no plain letter. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  ł: 'l',
  ø: 'o',
  æ: 'ae',
  œ: 'oe',
  đ: 'd',
  ð: 'd',
  ı: 'i',
  þ: 'th',
};

/** Longer names are prose. */
const LONGEST_NAME = 120;
/** A shorter word must be a word of the name, and not a part of one, in scripts with spaces between words. */
const SHORTEST_PART = 4;
const SPACED = /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Arabic}\p{Script=Hebrew}]/u;

/** The words of a name without accents, case, punctuation and numbers: `leadEmail_1` is `lead`, `email`. */
export function wordsOfName(name: string): string[] {
  return name
    .slice(0, LONGEST_NAME)
    .replaceAll(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .replaceAll(/[ßłøæœđðıþ]/g, (letter) => PLAIN_LETTERS[letter] ?? letter)
    .split(/[^\p{L}]+/u)
    .filter((word) => word !== '');
}

const plain = (word: string): string => wordsOfName(word).join('');
const setOf = (list: readonly string[]): ReadonlySet<string> => new Set(list.map(plain));

const WORDS = {
  neutral: setOf(NEUTRAL_WORDS),
  personal: setOf(PERSONAL_WORDS),
  secondary: setOf(SECONDARY_WORDS),
  company: setOf(COMPANY_WORDS),
  mobile: setOf(MOBILE_WORDS),
  prefix: setOf(PREFIX_WORDS),
};

const GRAMMARS = (Object.keys(KEY_WORDS) as KeyWord[]).map((key) => {
  const core = setOf(KEY_WORDS[key]);
  const own = key === 'linkedin' ? setOf(PROFILE_WORDS) : key === 'domain' ? setOf(NAME_WORDS) : WORDS.personal;
  const beside = [WORDS.neutral, WORDS.secondary, own, ...(key === 'linkedin' ? [WORDS.personal] : [])];
  const all = new Set([...core, ...beside.flatMap((set) => [...set])]);
  return { key, core, all, longest: Math.max(...[...all].map((word) => word.length)) };
});

/**
 * The key that a name means: each of its words names this key, or says nothing about which key it is. Null for any other name, such as
 * `Email status` or `Company LinkedIn`.
 */
export function readName(name: string): NameReading | null {
  const words = wordsOfName(name);
  for (const { key, core, all, longest } of GRAMMARS) {
    const parts = partsOf(words, all, longest, core);
    if (parts === null) continue;
    if (key === 'linkedin' && parts.some((part) => WORDS.company.has(part))) continue;
    const has = (set: ReadonlySet<string>): boolean => parts.some((part) => set.has(part));
    const behind = (has(WORDS.personal) ? 4 : 0) + (has(WORDS.secondary) ? 2 : 0) + (key === 'phone' && !has(WORDS.mobile) ? 1 : 0);
    return { key, behind };
  }
  return null;
}

/** Whether a name says that its cells are private, so that other columns come first. */
export function isPersonalName(name: string): boolean {
  return wordsOfName(name).some((word) => WORDS.personal.has(word));
}

/** The name without prefixes and suffixes of exports, as one word: `Lead: First Name` and `FIRST_NAME__c` alike. */
export function bareColumnName(name: string): string {
  const words = wordsOfName(name);
  while (words.length > 1 && WORDS.prefix.has(words[0] ?? '')) words.shift();
  if (words.length > 1 && words.at(-1) === 'c') words.pop();
  return words.join('');
}

/** The words of `all` that make up the name; null when it has another word, or none of `core`. */
function partsOf(words: readonly string[], all: ReadonlySet<string>, longest: number, core: ReadonlySet<string>): readonly string[] | null {
  const text = words.join('');
  const edges = new Set<number>([0]);
  let at = 0;
  for (const word of words) edges.add((at += word.length));
  /** From each place: the parts behind it with a word of `core`, and without one. */
  const found: { with: readonly string[] | null; without: readonly string[] | null }[] = [];
  found[text.length] = { with: null, without: [] };
  for (let from = text.length - 1; from >= 0; from--) {
    const here: { with: readonly string[] | null; without: readonly string[] | null } = { with: null, without: null };
    for (let to = Math.min(text.length, from + longest); to > from; to--) {
      const rest = found[to];
      const part = text.slice(from, to);
      if (rest === undefined || !all.has(part)) continue;
      if (part.length < SHORTEST_PART && !(edges.has(from) && edges.has(to)) && SPACED.test(part)) continue;
      const isCore = core.has(part);
      const behind = isCore ? (rest.with ?? rest.without) : rest.with;
      if (here.with === null && behind !== null) here.with = [part, ...behind];
      if (here.without === null && !isCore && rest.without !== null) here.without = [part, ...rest.without];
    }
    found[from] = here;
  }
  return found[0]?.with ?? null;
}
