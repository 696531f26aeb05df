/** JSONata's own functions, bounded where they could allocate far more than they are given. */
import jsonata from 'jsonata';
import { isObject } from '../../util/is-object.ts';
import { LimitReached, LIMITS, meter } from './meter.ts';

/** The object that JSONata passes as `this`. */
interface Focus {
  createSequence(): unknown[];
}
type Implementation = (this: Focus, ...args: unknown[]) => unknown;

/** A function as JSONata keeps it. */
interface Definition {
  readonly _jsonata_function: true;
  readonly implementation: Implementation;
  readonly signature?: unknown;
}

/** Functions that give another value each time, or load code. Each has its reason. */
export const REFUSED_FUNCTIONS: Readonly<Record<string, string>> = {
  eval: 'it runs text as code',
  now: 'it gives another value each time, and a request must be the same after a crash',
  millis: 'it gives another value each time, and a request must be the same after a crash',
  random: 'it gives another value each time, and a request must be the same after a crash',
  shuffle: 'it gives another order each time, and a request must be the same after a crash',
};

/** Every function that a mapping may call. JSONata 2.2.2, "Function library". */
export const FUNCTIONS: readonly string[] = (
  'sum count max min average string substring substringBefore substringAfter lowercase uppercase length trim pad match ' +
  'contains replace split join formatNumber formatBase formatInteger parseInteger number floor ceil round abs sqrt power ' +
  'boolean not map zip filter single reduce sift keys lookup append exists spread merge reverse each error assert type sort ' +
  'distinct base64encode base64decode encodeUrlComponent encodeUrl decodeUrlComponent decodeUrl toMillis fromMillis clone'
).split(' ');

/** Names by which the operators `&` and `..` are called. No expression can write them. */
export const CONCAT = '&';
export const RANGE = '..';

/** Entries of a list that JSONata's sort and spread copy in quadratic time. */
const QUADRATIC_LIST = 2_000;
/** Characters of a date or number that is read by a picture. The expression that the picture becomes can take polynomial time. */
const PICTURED_TEXT = 100;

const sizeOf = (value: unknown): number => {
  if (typeof value === 'string' || Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : 0;
};
const tooLong = (what: string, most: number): LimitReached => new LimitReached('too_large', `${what} is longer than ${most}`);
const boundText = (text: unknown): unknown => {
  if (typeof text !== 'string') return text;
  if (text.length > LIMITS.text) throw tooLong('a text that it makes', LIMITS.text);
  meter.charge(2 * text.length);
  return text;
};
const boundLength = (name: string, value: unknown, most: number): void => {
  if (sizeOf(value) > most) throw tooLong(`the text or list given to $${name}`, most);
};

/** The check before a call. @throws LimitReached */
type Check = (args: readonly unknown[]) => void;

/** Takes this many bytes for each character or entry of the arguments. */
const charged =
  (bytes: number): Check =>
  (args) =>
    meter.charge(bytes * args.reduce<number>((sum, arg) => sum + sizeOf(arg), 0));

const CHECKS: Readonly<Record<string, Check>> = {
  // They allocate nothing, but a loop around them would take long.
  ...Object.fromEntries(['sum', 'max', 'min', 'average', 'boolean', 'not'].map((name) => [name, charged(4)])),
  ...Object.fromEntries(['append', 'reverse', 'keys', 'lookup', 'each', 'sift'].map((name) => [name, charged(16)])),
  ...Object.fromEntries(['length', 'substring', 'split', 'zip'].map((name) => [name, charged(64)])),
  ...Object.fromEntries(
    [
      'lowercase',
      'uppercase',
      'trim',
      'formatNumber',
      'formatInteger',
      'fromMillis',
      'base64decode',
      'decodeUrl',
      'decodeUrlComponent',
    ].map((name) => [name, charged(16)]),
  ),
  ...Object.fromEntries(
    ['base64encode', 'encodeUrl', 'encodeUrlComponent'].map((name): [string, Check] => [
      name,
      ([text]) => boundLength(name, text, LIMITS.text / 10),
    ]),
  ),
  merge: ([list]) => {
    if (Array.isArray(list)) for (const one of list) meter.charge(64 * (1 + sizeOf(one)));
  },
  spread: ([list]) => boundLength('spread', list, QUADRATIC_LIST),
  sort: ([list]) => boundLength('sort', list, QUADRATIC_LIST),
  toMillis: ([text]) => boundLength('toMillis', text, PICTURED_TEXT),
  parseInteger: ([text]) => boundLength('parseInteger', text, PICTURED_TEXT),
  pad: ([text, width]) => {
    if (Math.abs(Number(width)) > LIMITS.list) throw tooLong('the text that $pad makes', LIMITS.list);
    boundLength('pad', text, LIMITS.text);
  },
  join: ([list, separator]) => {
    if (!Array.isArray(list)) return;
    const length = list.reduce<number>((sum, one) => sum + sizeOf(one) + sizeOf(separator), 0);
    if (length > LIMITS.text) throw tooLong('the text that $join makes', LIMITS.text);
  },
  replace: ([text, pattern, replacement]) => {
    if (typeof pattern !== 'string' || pattern === '') return;
    const longest = sizeOf(text) + Math.ceil(sizeOf(text) / pattern.length) * sizeOf(replacement);
    if (longest > LIMITS.text) throw tooLong('the text that $replace could make', LIMITS.text);
  },
};

/** Equal values have equal text. Objects are equal whatever the order of their keys is. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, member: unknown) =>
    isObject(member) ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1))) : member,
  );

/** JSONata's own compares each entry with all others. */
function distinct(this: Focus, list: unknown): unknown {
  if (!Array.isArray(list) || list.length <= 1) return list;
  charged(64)([list]);
  const found = (list as { sequence?: boolean }).sequence === true ? this.createSequence() : [];
  const seen = new Set<unknown>();
  for (const one of list as unknown[]) {
    const name = typeof one === 'object' && one !== null ? canonical(one) : typeof one === 'string' ? `"${one}` : one;
    boundText(name);
    if (!seen.has(name)) found.push(one);
    seen.add(name);
  }
  return found;
}

/** `a..b`: JSONata's own range, charged before it is allocated. */
function range(from: unknown, to: unknown): unknown {
  // In the form of JSONata's own errors, which it puts into words.
  if (from !== undefined && !Number.isInteger(from)) throw Object.assign(new Error('range'), { code: 'T2003', value: from });
  if (to !== undefined && !Number.isInteger(to)) throw Object.assign(new Error('range'), { code: 'T2004', value: to });
  if (typeof from !== 'number' || typeof to !== 'number' || from > to) return undefined;
  const length = to - from + 1;
  if (length > LIMITS.list) throw tooLong('a range', LIMITS.list);
  meter.charge(32 * length);
  return Object.assign(
    Array.from({ length }, (_, index) => from + index),
    { sequence: true },
  );
}

const bounded = (name: string, own: Definition): Definition => {
  const check = CHECKS[name];
  const call: Implementation = function call(...args) {
    check?.(args);
    const result = own.implementation.apply(this, args);
    return result instanceof Promise ? result.then(boundText) : boundText(result);
  };
  // JSONata reads the number and the names of the parameters.
  Object.defineProperty(call, 'length', { value: own.implementation.length });
  Object.defineProperty(call, 'toString', { value: () => own.implementation.toString() });
  return { ...own, implementation: call };
};

const OWN = Object.fromEntries(
  await Promise.all(
    FUNCTIONS.map(async (name): Promise<[string, Definition]> => [name, (await jsonata(`$${name}`).evaluate(null)) as Definition]),
  ),
);
const definitionOf = (name: string): Definition => OWN[name] as Definition;
const string = bounded('string', definitionOf('string')).implementation;

/** `a & b`. */
function concat(this: Focus, left: unknown, right: unknown): unknown {
  const a = (typeof left === 'string' ? left : string.call(this, left)) ?? '';
  const b = (typeof right === 'string' ? right : string.call(this, right)) ?? '';
  return boundText((a as string) + (b as string));
}

function clone(this: Focus, value: unknown): unknown {
  if (value === undefined) return undefined;
  const text = string.call(this, value) as string;
  meter.charge(16 * text.length);
  return JSON.parse(text) as unknown;
}

const BOUNDED_FUNCTIONS: readonly (readonly [string, Definition])[] = [
  ...[...Object.keys(CHECKS), 'string', 'formatBase'].map((name) => [name, bounded(name, definitionOf(name))] as const),
  ['distinct', { ...definitionOf('distinct'), implementation: distinct }],
  ['clone', { ...definitionOf('clone'), implementation: clone }],
  [CONCAT, { _jsonata_function: true, implementation: concat }],
  [RANGE, { _jsonata_function: true, implementation: range }],
];

/** Puts the bounded functions in place of JSONata's own. */
export function bindFunctions(expression: jsonata.Expression): void {
  for (const [name, definition] of BOUNDED_FUNCTIONS) expression.assign(name, definition);
}
