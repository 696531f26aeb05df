/** A terminal's screen, as far as Millrace writes to it: text, line ends, colours, and going up, left and clearing. */

/** A character and the SGR codes of its style, such as `1;32`. */
export interface Cell {
  readonly character: string;
  readonly style: string;
}

export class Screen {
  readonly cells: Cell[][] = [[]];
  /** The text without its colours at each moment at which something was cleared. */
  readonly frames: string[] = [];
  #columns: number;
  #row = 0;
  #column = 0;
  readonly #style = new Map<string, string>();

  constructor(columns: number) {
    this.#columns = columns;
  }

  /** The text of each line, without its colours. */
  get lines(): string[] {
    return this.cells.map((line) => line.map(({ character }) => character).join(''));
  }

  /** A terminal that becomes narrower wraps its lines again. */
  resize(columns: number): void {
    this.#columns = columns;
    const before = this.cells.splice(0);
    for (const line of before) {
      for (let at = 0; at === 0 || at < line.length; at += columns) this.cells.push(line.slice(at, at + columns));
    }
    this.#row = this.cells.length - 1;
    this.#column = (this.cells.at(-1) ?? []).length;
  }

  write(text: string): void {
    for (const [token] of text.matchAll(/\u001b\[([\d;]*)([A-Za-z])|[^]/gu)) this.#take(token);
  }

  #take(token: string): void {
    const [, number = '', letter = ''] = /^\u001b\[([\d;]*)([A-Za-z])$/.exec(token) ?? [];
    if (letter === 'm') this.#paint(number);
    else if (letter === 'A') this.#row = Math.max(0, this.#row - Number(number || 1));
    else if (letter === 'J') {
      this.frames.push(this.lines.join('\n'));
      this.cells.length = this.#row + 1;
      this.cells[this.#row] = (this.cells[this.#row] ?? []).slice(0, this.#column);
    } else if (token === '\r') this.#column = 0;
    else if (token === '\n') this.#down();
    else if (letter === '') this.#put(token);
    else throw new Error(`an escape that this screen does not know: ${JSON.stringify(token)}`);
  }

  /** One code of each kind is in force: weight (1, 2; 22 ends it) and colour (30 to 37; 39 ends it). */
  #paint(codes: string): void {
    for (const code of codes.split(';')) {
      if (code === '' || code === '0') this.#style.clear();
      else if (code === '22') this.#style.delete('weight');
      else if (code === '39') this.#style.delete('colour');
      else this.#style.set(Number(code) < 30 ? 'weight' : 'colour', code);
    }
  }

  #put(character: string): void {
    if (this.#column >= this.#columns) {
      this.#down();
      this.#column = 0;
    }
    const line = (this.cells[this.#row] ??= []);
    while (line.length < this.#column) line.push({ character: ' ', style: '' });
    line[this.#column] = { character, style: [...this.#style.values()].join(';') };
    this.#column++;
  }

  #down(): void {
    this.#row++;
    this.cells[this.#row] ??= [];
  }
}
