/** Order-preserving codes: the prefix of a text as a number, so that texts are sorted by columns of numbers. By code point. Pure. */

/** Characters with a digit of their own. The characters between two of them share a digit, and end the exact part of a prefix. */
class Alphabet {
  readonly #digits = new Uint8Array(128);
  readonly #isOwn: readonly boolean[];
  readonly length: number;
  /** Exclusive upper bound of the numbers. */
  readonly size: number;

  /** @param length characters of a prefix, limited by the 53 bits of a number */
  constructor(characters: string, length: number) {
    // Digit 0 is the end of a text, and comes first.
    const isOwn = [true];
    let isBetween = false;
    for (let code = 0; code < 128; code++) {
      const own = characters.includes(String.fromCharCode(code));
      if (own || !isBetween) isOwn.push(own);
      isBetween = !own;
      this.#digits[code] = isOwn.length - 1;
    }
    // All other characters come after ASCII.
    if (!isBetween) isOwn.push(false);
    this.#isOwn = isOwn;
    this.length = length;
    this.size = isOwn.length ** length;
  }

  number(text: string, from = 0): number {
    const base = this.#isOwn.length;
    let number = 0;
    let isInexact = false;
    for (let at = from; at < from + this.length; at++) {
      const code = text.charCodeAt(at);
      // NaN is past the end. After an inexact character all digits are the highest, so the last digit says that the prefix is inexact.
      const digit: number = isInexact ? base - 1 : Number.isNaN(code) ? 0 : (this.#digits[code] ?? base - 1);
      isInexact = this.#isOwn[digit] !== true;
      number = number * base + digit;
    }
    return number;
  }

  /** Whether texts with this number have the same prefix. */
  isExact(number: number): boolean {
    return this.#isOwn[number % this.#isOwn.length] === true;
  }

  /** Whether the text ends within the prefix, so that texts with this number are equal. */
  isComplete(number: number): boolean {
    return number % this.#isOwn.length === 0;
  }
}

/** Ten characters of normalised names. */
const NAMES = new Alphabet(" '-.abcdefghijklmnopqrstuvwxyz", 10);

/** Names that begin outside ASCII: three code points of 17 bits each. Higher code points are rare in names, and inexact. */
const POINT_BITS = 17;
const POINTS = 3;
const LAST_POINT = 2 ** POINT_BITS - 1;

/** The code of three code points, greater than all numbers of `NAMES`. @param from index of the first one */
function pointNumber(points: readonly number[], from: number): number {
  let number = 0;
  let isInexact = false;
  for (let at = from; at < from + POINTS; at++) {
    const point: number = isInexact ? LAST_POINT : at >= points.length ? 0 : Math.min((points[at] ?? 0) + 1, LAST_POINT);
    isInexact = point === LAST_POINT;
    number = number * (LAST_POINT + 1) + point;
  }
  return NAMES.size + number;
}

/** Two codes of a normalised name: ten characters each, or three in other scripts than Latin. */
export function namePrefixes(given: string): readonly [head: number, tail: number] {
  const name = given.toWellFormed();
  if (!(name.charCodeAt(0) > 127)) return [NAMES.number(name), NAMES.number(name, NAMES.length)];
  const points = Array.from(name.slice(0, 4 * POINTS), (character) => character.codePointAt(0) ?? 0);
  return [pointNumber(points, 0), pointNumber(points, POINTS)];
}

/** Whether names with this code are equal in that part. */
export function isExactName(number: number): boolean {
  return number < NAMES.size ? NAMES.isExact(number) : (number - NAMES.size) % (LAST_POINT + 1) !== LAST_POINT;
}

/** Whether names with this code end within that part. */
export function isCompleteName(number: number): boolean {
  return number < NAMES.size ? NAMES.isComplete(number) : (number - NAMES.size) % (LAST_POINT + 1) === 0;
}

/** For ids, every printable ASCII character. */
const IDS = new Alphabet(Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join(''), 8);

/** Two codes of an id, eight characters each: ids of one source often share a prefix. */
export function idPrefixes(given: string): readonly [head: number, tail: number] {
  const id = given.toWellFormed();
  return [IDS.number(id), IDS.number(id, IDS.length)];
}

/** Whether ids with this code are equal in that part. */
export function isExactId(number: number): boolean {
  return IDS.isExact(number);
}

/** Compares as SQLite does, by bytes of UTF-8: that is the order of code points. */
export function compareUtf8(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let i = 0; i < length; i++) {
    const difference = codePointOrder(one.charCodeAt(i)) - codePointOrder(other.charCodeAt(i));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Maps code units to the order of code points: surrogates come last. */
function codePointOrder(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit;
}
