/** Reads HTML in tests. */
import { expect } from 'vitest';

/** Checks that each element is closed by its own tag, except void elements. */
export function expectClosed(html: string): void {
  const open: string[] = [];
  for (const [, close, name = '', alone] of html
    .replaceAll(/<(style|script)>[^<]*<\/\1>/g, '')
    .matchAll(/<(\/?)([a-z]\w*)\b[^>]*?(\/?)>/g)) {
    if (alone === '/' || ['meta', 'link', 'input', 'br'].includes(name)) continue;
    if (close === '') open.push(name);
    else expect(open.pop()).toBe(name);
  }
  expect(open).toEqual([]);
}

/** The visible text of HTML without elements. */
export function unescaped(html: string): string {
  const signs: Readonly<Record<string, string>> = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#39;': "'", '&amp;': '&' };
  return html.replaceAll(/&(?:lt|gt|quot|#39|amp);/g, (entity) => signs[entity] ?? entity);
}
