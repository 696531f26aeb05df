/** Binary search in a sorted text with one entry a line. It saves building a set of 50,000 strings. Pure. */
export class SortedLines {
  readonly #text: string;

  /** @param text ASCII lines sorted by character code; the last line ends with a line feed, too */
  constructor(text: string) {
    this.#text = text;
  }

  has(entry: string): boolean {
    const text = this.#text;
    let low = 0;
    let high = text.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const start = middle === 0 ? 0 : text.lastIndexOf('\n', middle - 1) + 1;
      const end = text.indexOf('\n', middle);
      const line = text.slice(start, end);
      if (line === entry) return true;
      if (line < entry) low = end + 1;
      else high = start;
    }
    return false;
  }
}
