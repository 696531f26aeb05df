/** Checks that an answer has the types of the document. Pure. */
import { isObject } from '../../util/is-object.ts';
import { SHAPES, type ShapeName } from './shapes.ts';
import { parseJson } from '../../util/parse-json.ts';

type Json = Readonly<Record<string, unknown>>;
type Check = (value: unknown) => boolean;

/** More levels than any answer has. Reading more would end some platforms. */
const MAX_DEPTH = 500;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** The JSON object in a text, else what is wrong with it. @param shape null for any object */
export function parseObject(text: string, shape: ShapeName | null): Json | string {
  const json = isTooDeep(text) ? undefined : parseJson(text);
  if (json === undefined) return 'the answer is not JSON';
  if (!isObject(json)) return 'the answer is not a JSON object';
  const wrong = shape === null ? undefined : wrongField(shape, json);
  return wrong === undefined ? json : `the type of ${wrong} is not that which was promised`;
}

/** A page of a list, with items of a shape; else what is wrong with it. */
export function wrongOfPage(page: Json, shape: ShapeName): string | undefined {
  const { data, meta = {} } = page;
  const isPage = Array.isArray(data) && (meta === null || isObject(meta));
  if (!isPage) return 'the answer is not a page';
  const { next_cursor: next = null, total = null } = meta ?? {};
  if ((next !== null && typeof next !== 'string') || (total !== null && typeof total !== 'number')) return 'the answer is not a page';
  for (const item of data as readonly unknown[]) {
    const wrong = isObject(item) ? wrongField(shape, item) : 'an item';
    if (wrong !== undefined) return `the type of ${wrong} is not that which was promised`;
  }
  return undefined;
}

/** The name of the first known field of another type. */
function wrongField(shape: ShapeName, found: Json): string | undefined {
  const checks = checksOf(shape);
  return Object.keys(found).find((name) => checks.get(name)?.(found[name]) === false);
}

const known = new Map<ShapeName, ReadonlyMap<string, Check>>();

function checksOf(shape: ShapeName): ReadonlyMap<string, Check> {
  const before = known.get(shape);
  if (before !== undefined) return before;
  const checks = new Map<string, Check>();
  for (const group of SHAPES[shape].split('; ')) {
    const [type = '', ...names] = group.split(' ');
    for (const name of names) checks.set(name, checkOf(type));
  }
  known.set(shape, checks);
  return checks;
}

/** Null is of every type: nothing was sent. */
function checkOf(type: string): Check {
  if (type.includes('|')) {
    const some = type.split('|').map(checkOf);
    return (value) => some.some((fits) => fits(value));
  }
  const inner = type.slice(1);
  if (type.startsWith('[')) return (value) => value === null || (Array.isArray(value) && value.every(checkOf(inner)));
  if (type.startsWith('{')) return (value) => value === null || (isObject(value) && Object.values(value).every(checkOf(inner)));
  if (type === 'integer') return (value) => value === null || Number.isInteger(value);
  if (type === 'object') return (value) => value === null || isObject(value);
  if (type in SHAPES) return (value) => value === null || (isObject(value) && wrongField(type as ShapeName, value) === undefined);
  return (value) => value === null || typeof value === type;
}

/** A text that is shorter than its greatest depth cannot be too deep, so nearly none is looked at. */
function isTooDeep(text: string): boolean {
  if (text.length <= MAX_DEPTH) return false;
  let depth = 0;
  let isText = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) isText = !isText;
    else if (isText && code === BACKSLASH) at++;
    else if (!isText && (code === 0x5b || code === 0x7b)) depth++;
    else if (!isText && (code === 0x5d || code === 0x7d)) depth--;
    if (depth > MAX_DEPTH) return true;
  }
  return false;
}
