/**
 * Evaluates the usual mappings without JSONata: paths, literals, comparisons, `and`, `or`, conditions, objects and a few functions.
 * JSONata waits for a promise at each node, which costs several times as much as the rest of a call. Whatever this does not
 * know, or a value that JSONata treats in its own way, is left to JSONata. Pure.
 */
import { isObject } from '../../util/is-object.ts';

/** JSONata must evaluate this input. */
export const LEAVE = Symbol('leave it to JSONata');

/** `undefined` finds nothing, as in JSONata. */
export type Direct = (input: Readonly<Record<string, unknown>>) => unknown;

/** A node of JSONata's syntax tree, as far as it is read here. */
interface Node {
  readonly type: string;
  readonly value?: unknown;
  readonly steps?: readonly Node[];
  readonly lhs?: unknown;
  readonly rhs?: Node;
  readonly expressions?: readonly Node[];
  readonly arguments?: readonly Node[];
  readonly procedure?: Node;
  readonly condition?: Node;
  readonly then?: Node;
  readonly else?: Node;
}

/** A node with any other member, such as a filter or an order, is JSONata's. */
const MEMBERS: Readonly<Record<string, string>> = {
  path: 'steps',
  name: 'value',
  string: 'value',
  number: 'value',
  value: 'value',
  block: 'expressions',
  binary: 'value lhs rhs',
  unary: 'value lhs expressions',
  condition: 'condition then else',
  function: 'value procedure arguments',
  variable: 'value',
};

/** Characters of a text that is put together here. */
const MAX_TEXT = 10_000;

/** Null when the expression has a part that is left to JSONata. @param ast of JSONata 2.2.2 */
export function compileDirect(ast: unknown): Direct | null {
  const node = ast as Node;
  const known = MEMBERS[node.type]?.split(' ');
  if (known === undefined || !hasOnly(node, known)) return null;
  switch (node.type) {
    case 'string':
    case 'number':
    case 'value':
      return () => node.value;
    case 'path':
      return compilePath(node.steps ?? []);
    case 'block': {
      const [only] = node.expressions ?? [];
      return only === undefined || node.expressions?.length !== 1 ? null : compileDirect(only);
    }
    case 'binary':
      return compileBinary(node);
    case 'unary':
      return node.value === '{' ? compileObject(node.lhs as readonly (readonly [Node, Node])[]) : null;
    case 'condition':
      return compileCondition(node);
    case 'function':
      return compileCall(node);
    default:
      return null;
  }
}

const hasOnly = (node: Node, members: readonly string[]): boolean =>
  Object.keys(node).every((member) => member === 'type' || member === 'position' || members.includes(member));

/** JSONata tells its functions by these, also where an answer has them. */
function isFunction(value: object): boolean {
  const { _jsonata_function: own, _jsonata_lambda: lambda } = value as { _jsonata_function?: unknown; _jsonata_lambda?: unknown };
  return own === true || lambda === true;
}

function compilePath(steps: readonly Node[]): Direct | null {
  const isPlain = steps.every((step) => step.type === 'name' && hasOnly(step, ['value']));
  if (!isPlain) return null;
  const names = steps.map(({ value }) => String(value));
  return (input) => {
    let found: unknown = input;
    for (const name of names) {
      // JSONata maps a step over a list.
      if (Array.isArray(found) || (isObject(found) && isFunction(found))) return LEAVE;
      if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
      found = (found as Readonly<Record<string, unknown>>)[name];
    }
    return found;
  };
}

function compileObject(members: readonly (readonly [Node, Node])[]): Direct | null {
  const parts: (readonly [name: string, value: Direct])[] = [];
  const names = new Set<unknown>(['__proto__']);
  for (const [name, value] of members) {
    const direct = compileDirect(value);
    // JSONata refuses a name that comes twice.
    if (direct === null || name.type !== 'string' || names.has(name.value)) return null;
    names.add(name.value);
    parts.push([String(name.value), direct]);
  }
  return (input) => {
    const made: Record<string, unknown> = {};
    for (const [name, value] of parts) {
      const member = value(input);
      if (member === LEAVE) return LEAVE;
      if (member !== undefined) made[name] = member;
    }
    return made;
  };
}

function compileBinary({ value: operator, lhs, rhs }: Node): Direct | null {
  const left = compileDirect(lhs);
  if (left === null || rhs === undefined) return null;
  if (operator === 'in') return compileIncludes(left, rhs);
  const right = compileDirect(rhs);
  if (right === null) return null;
  if (operator === 'and' || operator === 'or') {
    const decides = operator === 'or';
    return (input) => {
      const first = truthOf(left(input));
      return first === LEAVE || first === decides ? first : truthOf(right(input));
    };
  }
  const apply = OPERATORS[String(operator)];
  if (apply === undefined) return null;
  return (input) => {
    const [one, other] = [left(input), right(input)];
    return one === LEAVE || other === LEAVE ? LEAVE : apply(one, other);
  };
}

/** Lists and objects are compared by what they hold. */
const isPart = (value: unknown): boolean => typeof value === 'object' && value !== null;
/** Two numbers, or two texts: all else is an error, or nothing. */
const isPair = (one: unknown, other: unknown): boolean =>
  (typeof one === 'number' && typeof other === 'number') || (typeof one === 'string' && typeof other === 'string');

type Operator = (one: unknown, other: unknown) => unknown;

const equals =
  (same: boolean): Operator =>
  (one, other) => {
    if (one === undefined || other === undefined) return false;
    return isPart(one) || isPart(other) ? LEAVE : (one === other) === same;
  };

const OPERATORS: Readonly<Record<string, Operator>> = {
  '=': equals(true),
  '!=': equals(false),
  '<': (one, other) => (isPair(one, other) ? (one as number) < (other as number) : LEAVE),
  '<=': (one, other) => (isPair(one, other) ? (one as number) <= (other as number) : LEAVE),
  '>': (one, other) => (isPair(one, other) ? (one as number) > (other as number) : LEAVE),
  '>=': (one, other) => (isPair(one, other) ? (one as number) >= (other as number) : LEAVE),
  '&': (one, other) =>
    typeof one === 'string' && typeof other === 'string' && one.length + other.length <= MAX_TEXT ? one + other : LEAVE,
};

/** `status in [500, 502]`, with literals alone in the list. */
function compileIncludes(left: Direct, { type, value, expressions = [] }: Node): Direct | null {
  if (type !== 'unary' || value !== '[' || !expressions.every((one) => ['string', 'number', 'value'].includes(one.type))) return null;
  const list = expressions.map((one) => one.value);
  return (input) => {
    const one = left(input);
    if (one === undefined) return false;
    return one === LEAVE || isPart(one) ? LEAVE : list.includes(one);
  };
}

function compileCondition({ condition, then, else: otherwise }: Node): Direct | null {
  const compile = (node: Node | undefined): Direct | null => (node === undefined ? () => undefined : compileDirect(node));
  const [test, first, second] = [compile(condition), compile(then), compile(otherwise)];
  if (test === null || first === null || second === null) return null;
  return (input) => {
    const truth = truthOf(test(input));
    if (truth === LEAVE) return LEAVE;
    return truth ? first(input) : second(input);
  };
}

function compileCall({ procedure, arguments: given = [] }: Node): Direct | null {
  const call = procedure?.type === 'variable' ? CALLS[String(procedure.value)] : undefined;
  const [argument] = given;
  const value = argument === undefined || given.length !== 1 || call === undefined ? null : compileDirect(argument);
  if (value === null || call === undefined) return null;
  return (input) => {
    const found = value(input);
    return found === LEAVE ? LEAVE : call(found);
  };
}

const CALLS: Readonly<Record<string, (value: unknown) => unknown>> = {
  exists: (value) => value !== undefined,
  not: (value) => {
    if (value === undefined) return LEAVE;
    const truth = truthOf(value);
    return truth === LEAVE ? LEAVE : !truth;
  },
  lowercase: (value) => (typeof value === 'string' && value.length <= MAX_TEXT ? value.toLowerCase() : LEAVE),
  uppercase: (value) => (typeof value === 'string' && value.length <= MAX_TEXT ? value.toUpperCase() : LEAVE),
};

/** The effective boolean value. JSONata judges a list by its entries. */
function truthOf(value: unknown): boolean | typeof LEAVE {
  if (value === LEAVE || Array.isArray(value)) return LEAVE;
  if (isObject(value)) return isFunction(value) ? LEAVE : Object.keys(value).length > 0;
  return typeof value === 'function' ? LEAVE : Boolean(value);
}
