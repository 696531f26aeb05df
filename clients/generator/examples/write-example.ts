/** The parts that the writers of every language share. */
import type { Api } from '../model.ts';
import type { ExampleCall } from './calls.ts';
import { onOneLine, type Code } from './layout.ts';

/** The sample service: the page of the reference shows its own address instead. */
export const SERVICE = { key: 'sample-key', url: 'http://127.0.0.1:8080' } as const;

/** Writes the example of one operation. */
export type ExampleWriter = (call: ExampleCall, api: Api) => string;

/** `webhooks.rotate_secret` to `webhooks.rotateSecret`. */
export function camelCaseMethod(method: string): string {
  return method.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** `delivery` to `deliveries`. */
export function plural(name: string): string {
  return name.endsWith('y') ? `${name.slice(0, -1)}ies` : `${name}s`;
}

/** A text in quotes: in those of `usual`, or in `other` when it has them and no others. */
export function quoted(value: string, usual: string, other: string): string {
  const quote = value.includes(usual) && !value.includes(other) ? other : usual;
  return `${quote}${value.replaceAll('\\', '\\\\').replaceAll(quote, `\\${quote}`)}${quote}`;
}

/** A call whose last argument begins on its own line, when it is the only one that has parts. */
export function hugging(open: string, parts: readonly Code[], close: string): Code {
  const last = parts.at(-1);
  const others = parts.slice(0, -1);
  if (last === undefined || typeof last === 'string' || others.some((part) => typeof part !== 'string')) return { open, parts, close };
  return { ...last, open: `${open}${others.map((part) => `${onOneLine(part)}, `).join('')}${last.open}`, close: last.close + close };
}
