/** The beginnings of texts as numbers in the order of the texts, by code points: what is sorted by stands in columns of numbers. Pure. */

/** Characters of which each has a number of its own; those between two of them share one, and end what is told apart. */
class Alphabet {
  readonly #digits = new Uint8Array(128);
  readonly #isOwn: readonly boolean[];
  readonly length: number;
  /** Every number of a text is below. */
  readonly size: number;

  /** @param length characters that are looked at; so many of them in a number of 53 bits is what the alphabet's size has room for */
  constructor(characters: string, length: number) {
    // 0 is the end of a text, and stands before all.
    const isOwn = [true];
    let isBetween = false;
    for (let code = 0; code < 128; code++) {
      const own = characters.includes(String.fromCharCode(code));
      if (own || !isBetween) isOwn.push(own);
      isBetween = !own;
      this.#digits[code] = isOwn.length - 1;
    }
    // Whatever is not ASCII comes after it.
    if (!isBetween) isOwn.push(false);
    this.#isOwn = isOwn;
    this.length = length;
    this.size = isOwn.length ** length;
  }

  number(text: string, from = 0): number {
    const base = this.#isOwn.length;
    let number = 0;
    let isOver = false;
    for (let at = from; at < from + this.length; at++) {
      const code = text.charCodeAt(at);
      // Past the end it is NaN. Past a character that was not told apart, all are filled up as that, so that the last digit says so.
      const digit: number = isOver ? base - 1 : Number.isNaN(code) ? 0 : (this.#digits[code] ?? base - 1);
      isOver = this.#isOwn[digit] !== true;
      number = number * base + digit;
    }
    return number;
  }

  /** Whether texts of this number are the same as far as was looked. */
  isTold(number: number): boolean {
    return this.#isOwn[number % this.#isOwn.length] === true;
  }

  /** Whether the text was over within what was looked at, so that texts of this number are the same. */
  isWhole(number: number): boolean {
    return number % this.#isOwn.length === 0;
  }
}

/** Ten characters of folded names. */
const NAMES = new Alphabet(" '-.abcdefghijklmnopqrstuvwxyz", 10);

/** Names that do not begin with ASCII: three code points, in so many bits each, which leaves out what is hardly in a name. */
const POINT_BITS = 17;
const POINTS = 3;
const LAST_POINT = 2 ** POINT_BITS - 1;

/** @param from code points that are left out @returns as an `Alphabet` numbers texts, and above all numbers of `NAMES` */
function pointNumber(points: readonly number[], from: number): number {
  let number = 0;
  let isOver = false;
  for (let at = from; at < from + POINTS; at++) {
    const point: number = isOver ? LAST_POINT : at >= points.length ? 0 : Math.min((points[at] ?? 0) + 1, LAST_POINT);
    isOver = point === LAST_POINT;
    number = number * (LAST_POINT + 1) + point;
  }
  return NAMES.size + number;
}

/** The beginning of a folded name, and what comes next: twice ten characters, or of names in another script twice three. */
export function nameNumbers(given: string): readonly [head: number, tail: number] {
  const name = given.toWellFormed();
  if (!(name.charCodeAt(0) > 127)) return [NAMES.number(name), NAMES.number(name, NAMES.length)];
  const points = Array.from(name.slice(0, 4 * POINTS), (character) => character.codePointAt(0) ?? 0);
  return [pointNumber(points, 0), pointNumber(points, POINTS)];
}

/** Whether names of which a part has this number are the same in that part. */
export function isToldName(number: number): boolean {
  return number < NAMES.size ? NAMES.isTold(number) : (number - NAMES.size) % (LAST_POINT + 1) !== LAST_POINT;
}

/** Whether names of which a part has this number were over within it. */
export function isWholeName(number: number): boolean {
  return number < NAMES.size ? NAMES.isWhole(number) : (number - NAMES.size) % (LAST_POINT + 1) === 0;
}

/** Of ids, every printable character of ASCII. */
const IDS = new Alphabet(Array.from({ length: 95 }, (_, index) => String.fromCharCode(32 + index)).join(''), 8);

/** The first eight characters of an id, and the next eight: ids of one source often begin alike. */
export function idNumbers(given: string): readonly [head: number, tail: number] {
  const id = given.toWellFormed();
  return [IDS.number(id), IDS.number(id, IDS.length)];
}

/** Whether ids of which a part has this number are the same in that part. */
export function isToldId(number: number): boolean {
  return IDS.isTold(number);
}

/** SQLite compares texts by their bytes in UTF-8, which is the order of code points. */
export function compareTexts(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let i = 0; i < length; i++) {
    const difference = rankOf(one.charCodeAt(i)) - rankOf(other.charCodeAt(i));
    if (difference !== 0) return difference;
  }
  return one.length - other.length;
}

/** Code units in the order of the code points that they are of: surrogates stand for what comes after all else. */
function rankOf(unit: number): number {
  return unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit;
}
