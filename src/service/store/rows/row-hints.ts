/** Remembers in which row a text was found. It is a hint: the caller must check the row. Pure. */

/** Slots of eight bytes. */
const SLOTS = 2 ** 20;
/** Greater row numbers are not stored. */
const MOST = 2 ** 32 - 1;

/** A hash table of fixed size without objects, so that memory and garbage do not grow with use. A collision replaces the entry. */
export class RowHints {
  readonly #rows = new Uint32Array(SLOTS);
  readonly #digests = new Uint32Array(SLOTS);

  /** 0: no hint. */
  find(text: string): number {
    const digest = digestOf(text);
    const place = placeOf(digest);
    return this.#digests[place] === digest ? (this.#rows[place] as number) : 0;
  }

  put(text: string, row: number): void {
    const digest = digestOf(text);
    const place = placeOf(digest);
    this.#digests[place] = digest;
    this.#rows[place] = row <= MOST ? row : 0;
  }
}

/**
 * FNV-1a over UTF-16 units (www.isthe.com/chongo/tech/comp/fnv) with the finaliser of MurmurHash3, because the low bits alone do not
 * separate short texts.
 */
function digestOf(text: string): number {
  let digest = 0x811c_9dc5;
  for (let at = 0; at < text.length; at++) digest = Math.imul(digest ^ text.charCodeAt(at), 0x0100_0193);
  digest = Math.imul(digest ^ (digest >>> 16), 0x85eb_ca6b);
  return (digest ^ (digest >>> 13)) >>> 0;
}

function placeOf(digest: number): number {
  return digest % SLOTS;
}
