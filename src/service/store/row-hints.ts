/** In which row a text was found: a guess for the next time, which whoever reads the row has to check. Pure. */

/** Places, of eight bytes each. */
const PLACES = 2 ** 20;
/** Greater numbers of rows are not remembered. */
const MOST = 2 ** 32 - 1;

/** Of fixed size and without objects, so that neither memory nor garbage grows with what is asked for: whoever comes to the place of another takes it. */
export class RowHints {
  readonly #rows = new Uint32Array(PLACES);
  readonly #digests = new Uint32Array(PLACES);

  /** 0: no guess. */
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

/** FNV-1a over UTF-16 units, and a last mix: its low bits alone do not tell short texts apart (www.isthe.com/chongo/tech/comp/fnv, Murmur3's finaliser). */
function digestOf(text: string): number {
  let digest = 0x811c_9dc5;
  for (let at = 0; at < text.length; at++) digest = Math.imul(digest ^ text.charCodeAt(at), 0x0100_0193);
  digest = Math.imul(digest ^ (digest >>> 16), 0x85eb_ca6b);
  return (digest ^ (digest >>> 13)) >>> 0;
}

function placeOf(digest: number): number {
  return digest % PLACES;
}
