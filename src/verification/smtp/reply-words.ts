/**
 * Splits the text of a reply into clauses and words. Addresses, host names, links, numbers and queue ids leave no trace, nor do letter
 * case, accents of Latin letters and spacing. Pure.
 */

/** Servers repeat addresses and print links. Words in these mean nothing. */
const URL = /\b(?:https?:\/\/|ftp:\/\/|mailto:|www\.)[^\s<>"]+/gi;
const BRACKETED_ADDRESS = /<[^<>@\s]*@[^<>\s]*>(?::|\.{2,})?/g;
const QUOTED_ADDRESS = /"[^"]{1,64}"@[^\s<>"]+/g;
/** A colon or dots behind an address belong to it: `jane@example.com... unknown`. */
const ADDRESS = /[^\s<>()[\]"'=,;:]{1,64}@[^\s<>()[\]"',;:]+(?::|\.{2,})?/g;
/** A field of a log: `relay=[192.0.2.1]`, `id=4F1C2A`. A value without digits, dots or signs is a word: `reason=full`. */
const LOG_FIELD = /[\w-]+=(?=\S*[\d@[<.])\S+/g;
/** The reply code at the start of a line of a reply within the text: `550-user unknown`. */
const INNER_CODE = /(?<![\p{L}\p{N}.])[245]\d\d-(?=\D)/gu;
const HOST = /(?<![\p{L}\p{N}_.-])[\p{L}\p{N}_-]+(?:\.[\p{L}\p{N}_-]+)+\.?(?:\/\S*)?/gu;
/** Words with a digit: numbers, codes, addresses of hosts, queue ids. */
const ID = /(?<![\p{L}\p{N}+=-])[\p{L}+=-]*\p{N}[\p{L}\p{N}+=-]*(?:[.:]{1,2}[\p{L}\p{N}+=-]+)*/gu;
const HEXADECIMAL = /\b[0-9a-f]{8,}\b/gi;
/** Brackets and quotes that hold nothing more. */
const EMPTY = /[([{<"'«“][\s#]*[)\]}>"'»”]\s*:?/g;

const BRACKETED = /[([{<«]([^()[\]{}<>«»]*)[)\]}>»]/g;
const DASH = /\s-+\s|[—–]|->/g;
/** Words that begin another clause. */
const CONJUNCTION = /(?<!\p{L})(?:because|since|or you|weil|parce que|porque|perche)(?!\p{L})/gu;
const SEPARATOR = /(?<!\.)\.(?!\.)|[;!?/|,()[\]{}<>«»，。；、！？（）「」【】]+/g;
const COLON = /[:：]+/g;

/** A word, or a row of letters of a script without spaces. */
export const WORD = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}ー]+|[\p{L}\p{M}]+/gu;

function withoutEmpty(text: string): string {
  for (let before = text, rest = text.replaceAll(EMPTY, ' '); ; before = rest, rest = rest.replaceAll(EMPTY, ' '))
    if (rest === before) return rest;
}

function withoutAddresses(text: string): string {
  return text.replaceAll(URL, ' ').replaceAll(BRACKETED_ADDRESS, ' ').replaceAll(QUOTED_ADDRESS, ' ').replaceAll(ADDRESS, ' ');
}

/** The text without addresses, links and host names. */
export function spokenWords(text: string): string {
  return withoutEmpty(withoutAddresses(text).replaceAll(HOST, (host) => (/\p{L}/u.test(host) ? ' ' : host)));
}

/**
 * The text in one spelling and without what addresses, links, host names and ids leave behind.
 * @param isWord tells whether a part of a would-be host name is a word: `unknown.Please` is the end of a sentence
 */
export function withoutNoise(text: string, isWord: (word: string) => boolean): string {
  const isHost = (name: string): boolean => name.includes('/') || !name.split('.').every((part) => part === '' || isWord(canonical(part)));
  const words = withoutAddresses(text)
    .replaceAll(LOG_FIELD, ' ')
    .replaceAll(INNER_CODE, ' ')
    .replaceAll(HOST, (name) => (isHost(name) ? ' ' : name))
    .replaceAll(ID, ' ')
    .replaceAll(HEXADECIMAL, ' ');
  return canonical(withoutEmpty(words));
}

/** One spelling for each word: small letters without accents; hyphens, underscores and apostrophes are spaces. */
export function canonical(text: string): string {
  return (/^[\0-\x7f]*$/.test(text) ? text.toLowerCase() : withoutAccents(text))
    .replaceAll(/(?<=\p{L})[-'’`´_](?=\p{L})|_|\s+/gu, ' ')
    .replaceAll(/\be ?mail/g, 'email')
    .replaceAll(/\bmail box/g, 'mailbox');
}

/** Letters that are written with or without a mark. */
const PLAIN_LETTERS: Readonly<Record<string, string>> = { ł: 'l', ø: 'o', ß: 'ss', ı: 'i', ё: 'е' };

function withoutAccents(text: string): string {
  return text
    .normalize('NFKD')
    .replaceAll(/(\p{Script=Latin})\p{M}+/gu, '$1')
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(/[łøßıё]/g, (letter) => PLAIN_LETTERS[letter] ?? letter);
}

/**
 * The words of each clause, in its parts before and behind a colon. Text in brackets is a clause of its own, so that the words around it
 * stay together.
 */
export function clausesOf(plain: string): string[][][] {
  const asides: string[] = [];
  let rest = plain;
  for (let before = ''; before !== rest;) {
    before = rest;
    rest = rest.replaceAll(BRACKETED, (_all, inner: string) => {
      asides.push(inner);
      return ' ';
    });
  }
  return [rest, ...asides]
    .flatMap((part) => part.replaceAll(DASH, ';').replaceAll(CONJUNCTION, ';').split(SEPARATOR))
    .map((clause) => clause.split(COLON).flatMap((part) => [part.match(WORD) ?? []].filter((words) => words.length > 0)));
}
