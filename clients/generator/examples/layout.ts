/** Lays code out: on one line where it fits, else each part on a line of its own. Pure. */
import { Variable } from './calls.ts';

/** Code that is a text, or parts between an opening and a closing text. */
export type Code = string | Group;

export interface Group {
  readonly open: string;
  readonly parts: readonly Code[];
  readonly close: string;
  /** Inside the brackets on one line; default nothing. */
  readonly padding?: string;
  /** Behind the last part when each has a line of its own; default `,`. */
  readonly end?: string;
}

export interface Style {
  /** Most columns of a line. */
  readonly columns: number;
  /** One step further in. */
  readonly indent: string;
  /** Values of fields on lines below each other begin in the same column. */
  readonly isAligned?: true;
}

/** @param depth steps that the first line is further in; its own are not written */
export function layOut(code: Code, style: Style, depth: number): string {
  const flat = onOneLine(code);
  // A tab is as wide as four columns.
  const margin = style.indent.replaceAll('\t', '    ').length * depth;
  if (typeof code === 'string' || code.parts.length === 0 || margin + flat.length <= style.columns) return flat;
  const { open, parts, close, end = ',' } = code;
  const indent = style.indent.repeat(depth);
  const laidOut = parts.map((part) => layOut(part, style, depth + 1));
  const lines = (style.isAligned === true ? aligned(laidOut) : laidOut).map((part, i) => {
    const comma = i < parts.length - 1 ? ',' : end;
    return `${indent}${style.indent}${part}${comma}\n`;
  });
  return `${open}\n${lines.join('')}${indent}${close}`;
}

/** As gofmt does it: a part of several lines ends a block of lines that are aligned. */
function aligned(parts: readonly string[]): string[] {
  const keyOf = (part: string): number => (part.includes('\n') ? 0 : (/^"?\w+"?: /.exec(part)?.[0].length ?? 0));
  const widthAt = (at: number): number => {
    let [first, last] = [at, at];
    while (keyOf(parts[first - 1] ?? '') > 0) first--;
    while (keyOf(parts[last + 1] ?? '') > 0) last++;
    return Math.max(...parts.slice(first, last + 1).map(keyOf));
  };
  return parts.map((part, i) => (keyOf(part) === 0 ? part : part.slice(0, keyOf(part)).padEnd(widthAt(i)) + part.slice(keyOf(part))));
}

/** True when the code fits into a line behind other text. */
export function fits(code: Code, style: Style, columns: number): boolean {
  return onOneLine(code).length + columns <= style.columns;
}

export function onOneLine(code: Code): string {
  if (typeof code === 'string') return code;
  const { open, parts, close, padding = '' } = code;
  return parts.length === 0 ? open + close : `${open}${padding}${parts.map(onOneLine).join(', ')}${padding}${close}`;
}

/** The same behind a text, such as the name of a field. */
export function behind(text: string, code: Code): Code {
  return typeof code === 'string' ? text + code : { ...code, open: text + code.open };
}

/** The same before a text, such as the end of a statement. */
export function before(code: Code, text: string): Code {
  return typeof code === 'string' ? code + text : { ...code, close: code.close + text };
}

/** How a language writes the values of JSON. */
export interface Literals {
  readonly text: (value: string) => string;
  readonly list: (items: readonly Code[]) => Code;
  readonly object: (fields: readonly (readonly [string, Code])[]) => Code;
  /** `true` and `false` are the same in every language but Python. */
  readonly boolean?: (value: boolean) => string;
  /** Default: its name. */
  readonly variable?: (name: string) => string;
}

/** A value of JSON, or a variable, as code. */
export function valueCode(value: unknown, literals: Literals): Code {
  const within = (one: unknown): Code => valueCode(one, literals);
  if (typeof value === 'string') return literals.text(value);
  if (typeof value === 'boolean') return literals.boolean?.(value) ?? String(value);
  if (Array.isArray(value)) return literals.list(value.map(within));
  if (value instanceof Variable) return literals.variable?.(value.name) ?? value.name;
  if (typeof value !== 'object' || value === null) return String(value);
  return literals.object(Object.entries(value).map(([name, one]) => [name, within(one)]));
}
