/** Writes values as YAML text with comments. Pure. */

/** Text that YAML reads as the same text without quotes. */
const PLAIN = /^[A-Za-z_$/](?:[\w$./[\]() =?+-]|:(?=[^\s:]))*$/;
const OTHERWISE = /^(?:true|false|null|yes|no|on|off|~)$/i;

/** A text, in quotes where YAML needs them. */
export function scalar(text: string): string {
  if (PLAIN.test(text) && !OTHERWISE.test(text) && !text.includes(' #') && !text.endsWith(' ')) return text;
  return JSON.stringify(text);
}

/** A key of a mapping. */
export function keyText(name: string): string {
  return /^[A-Za-z_][\w.-]*$/.test(name) && !OTHERWISE.test(name) ? name : JSON.stringify(name);
}

/** Lines with a comment on each that has one, aligned. */
export function aligned(lines: readonly (readonly [text: string, comment: string])[], column = 46): string[] {
  return lines.map(([text, comment]) => (comment === '' ? text : `${text.padEnd(column - 1)} # ${comment}`));
}

/** A comment of several lines, each at most 120 columns. */
export function commentLines(indent: string, opening: string, words: readonly string[], separator = ', '): string[] {
  const lines: string[] = [];
  let line = `${indent}# ${opening}`;
  for (const [index, word] of words.entries()) {
    const plain = word.replaceAll(/[\p{C}\s]+/gu, ' ');
    const piece = index === words.length - 1 ? plain : plain + separator.trimEnd();
    if (`${line} ${piece}`.length > 120) {
      lines.push(line);
      line = `${indent}#   ${piece}`;
    } else line += ` ${piece}`;
  }
  return [...lines, line];
}
