/** A terminal's screen, as far as Millrace writes to it: text, line ends, colours, and going up, left and clearing. */
export class Screen {
  readonly lines: string[] = [''];
  /** The text without its colours at each moment at which something was cleared. */
  readonly frames: string[] = [];
  #columns: number;
  #row = 0;
  #column = 0;

  constructor(columns: number) {
    this.#columns = columns;
  }

  /** A terminal that becomes narrower wraps its lines again. */
  resize(columns: number): void {
    this.#columns = columns;
    const before = this.lines.splice(0);
    for (const line of before) {
      for (let at = 0; at === 0 || at < line.length; at += columns) this.lines.push(line.slice(at, at + columns));
    }
    this.#row = this.lines.length - 1;
    this.#column = (this.lines.at(-1) ?? '').length;
  }

  write(text: string): void {
    for (const [token] of text.matchAll(/\u001b\[(\d*)([A-Za-z])|[^]/gu)) this.#take(token);
  }

  #take(token: string): void {
    const [, number = '', letter = ''] = /^\u001b\[(\d*)([A-Za-z])$/.exec(token) ?? [];
    if (letter === 'm') return;
    if (letter === 'A') this.#row = Math.max(0, this.#row - Number(number || 1));
    else if (letter === 'J') {
      this.frames.push(this.lines.join('\n'));
      this.lines.length = this.#row + 1;
      this.lines[this.#row] = (this.lines[this.#row] ?? '').slice(0, this.#column);
    } else if (token === '\r') this.#column = 0;
    else if (token === '\n') this.#down();
    else if (letter === '') this.#put(token);
    else throw new Error(`an escape that this screen does not know: ${JSON.stringify(token)}`);
  }

  #put(character: string): void {
    if (this.#column >= this.#columns) {
      this.#down();
      this.#column = 0;
    }
    const line = (this.lines[this.#row] ?? '').padEnd(this.#column);
    this.lines[this.#row] = line.slice(0, this.#column) + character + line.slice(this.#column + 1);
    this.#column++;
  }

  #down(): void {
    this.#row++;
    this.lines[this.#row] ??= '';
  }
}
