/** Lines at the bottom of a terminal that are drawn again in place. */

/** A terminal, or a stand-in for it. */
export interface Terminal {
  write(text: string): unknown;
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
}

const USUAL = { columns: 100, rows: 24 };

/** Some terminals, such as a container's, report a size of 0: then the usual one counts. */
export function sizeOf({ columns = 0, rows = 0 }: Terminal): { readonly columns: number; readonly rows: number } {
  return { columns: columns > 0 ? columns : USUAL.columns, rows: rows > 0 ? rows : USUAL.rows };
}

export class LiveLines {
  readonly #out: Terminal;
  /** The lengths of the lines on the screen. */
  #shown: readonly number[] = [];

  constructor(out: Terminal) {
    this.#out = out;
  }

  /** Replaces the lines on the screen. @param lengths the visible lengths of the lines, whose texts may have colours */
  draw(lines: readonly string[], lengths: readonly number[]): void {
    this.#out.write(`${this.#home()}${lines.join('\n')}`);
    this.#shown = lengths;
  }

  /** Takes the lines off the screen. */
  erase(): void {
    if (this.#shown.length === 0) return;
    this.#out.write(this.#home());
    this.#shown = [];
  }

  /** To the first column of the first line, clearing all from there on. A terminal that has become narrower has wrapped lines. */
  #home(): string {
    const { columns } = sizeOf(this.#out);
    const rows = this.#shown.reduce((sum, length) => sum + Math.max(1, Math.ceil(length / columns)), 0);
    return `\r${rows > 1 ? `\u001b[${rows - 1}A` : ''}\u001b[J`;
  }
}
