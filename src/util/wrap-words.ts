/** Breaks a text into lines between its words. Pure. */

/** @param columns at most in a line; a longer word has a line of its own. @param indent before each line but the first */
export function wrapWords(text: string, columns: number, indent = ''): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= columns) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(last === undefined ? word : indent + word);
  }
  return lines;
}
