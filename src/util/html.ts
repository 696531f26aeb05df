/** Text as HTML. Pure. */

const ENTITIES: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

export function escape(text: string): string {
  return text.replaceAll(/[&<>"']/g, (sign) => ENTITIES[sign] ?? sign);
}

/** Escapes a sentence. Text between backticks becomes code. */
export function prose(text: string): string {
  return escape(text).replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

/** A table whose cells are HTML already. Empty when it has no rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return '';
  const cells = (row: readonly string[], tag: 'td' | 'th'): string => `<tr>${row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`;
  return (
    `<div class="wide"><table><thead>${cells(head, 'th')}</thead><tbody>` +
    `${rows.map((row) => cells(row, 'td')).join('\n')}</tbody></table></div>`
  );
}

/** A section that opens on a click, and in print. */
export function folded(summary: string, content: string): string {
  return `<details><summary>${summary}</summary>${content}</details>`;
}
