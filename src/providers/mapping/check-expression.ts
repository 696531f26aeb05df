/** Refuses expressions that could run for ever or change with time, and puts bounded operators in place of JSONata's. Pure. */
import { didYouMean, nearest } from '../../util/nearest.ts';
import { CONCAT, FUNCTIONS, RANGE, REFUSED_FUNCTIONS } from './functions.ts';

/** A node as JSONata 2.2.2 makes it: `type` and whatever belongs to that type. */
interface Node {
  type?: unknown;
  value?: unknown;
  position?: unknown;
  procedure?: unknown;
  [member: string]: unknown;
}

/** A reason to refuse an expression, with its place in it, in characters from 1. */
export interface Objection {
  readonly problem: string;
  readonly hint: string | null;
  readonly position: number | null;
}

const OPERATORS: Readonly<Record<string, string>> = { '&': CONCAT, '..': RANGE };

/** The first objection, or null. Changes the operators `&` and `..` of the tree to calls. */
export function checkExpression(root: unknown): Objection | null {
  const nodes = nodesOf(root);
  const bound = boundNames(nodes);
  for (const node of nodes) {
    const objection = objectionTo(node, bound);
    if (objection !== null) return objection;
  }
  for (const node of nodes) keepAsOperand(node);
  for (const node of nodes) bindOperator(node);
  return null;
}

/** Every node once: the parser shares some between two parents. In the order of the text, as far as the tree has it. */
function nodesOf(root: unknown): Node[] {
  const found = new Set<Node>();
  const walk = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || value instanceof RegExp || found.has(value as Node)) return;
    found.add(value as Node);
    for (const member of Object.values(value)) walk(member);
  };
  walk(root);
  return [...found];
}

/** Names that the expression binds itself: by `:=`, as parameters, by `@` and `#`. */
function boundNames(nodes: readonly Node[]): ReadonlySet<string> {
  const names = new Set<string>();
  const add = (name: unknown): void => void (typeof name === 'string' && names.add(name));
  for (const node of nodes) {
    if (node.type === 'bind') add((node['lhs'] as Node).value);
    if (node.type === 'lambda') for (const parameter of node['arguments'] as Node[]) add(parameter.value);
    add(node['focus']);
    if (typeof node['index'] === 'string') add(node['index']);
    if (node.type === 'index') add(node.value);
  }
  return names;
}

function objectionTo(node: Node, bound: ReadonlySet<string>): Objection | null {
  const end = typeof node.position === 'number' ? node.position : null;
  if (node.type === 'regex') {
    const hint = 'Use $contains, $substringBefore, $substringAfter, $split or $replace with text.';
    return { problem: 'a regular expression can run for ever on some texts', hint, position: end };
  }
  if (node.type === 'function' || node.type === 'partial') {
    const called = node.procedure as Node;
    const name = called.type === 'path' ? ((called['steps'] as Node[]).at(-1)?.value ?? '') : null;
    if (name !== null)
      return { problem: `${show(name)}( calls no function`, hint: `Functions begin with $: $${show(name)}(...).`, position: end };
  }
  if (node.type !== 'variable' || typeof node.value !== 'string' || node.value === '' || node.value === '$') return null;
  const { value: name } = node;
  const position = end === null ? null : Math.max(1, end - name.length);
  const reason = Object.hasOwn(REFUSED_FUNCTIONS, name) ? REFUSED_FUNCTIONS[name] : undefined;
  if (reason !== undefined) return { problem: `$${name} is refused: ${reason}`, hint: null, position };
  if (bound.has(name) || FUNCTIONS.includes(name)) return null;
  const suggestion = nearest(name, [...FUNCTIONS, ...bound]);
  return { problem: `there is no $${show(name)}${didYouMean(suggestion === null ? null : `$${suggestion}`)}`, hint: null, position };
}

const show = (name: unknown): string => String(name).slice(0, 60);

const operatorOf = (node: Node): string | undefined =>
  node.type === 'binary' && typeof node.value === 'string' ? OPERATORS[node.value] : undefined;

/** `a ~> f(b)` puts `a` into the call, and an operator must not become such a call. */
function keepAsOperand(node: Node): void {
  if (node.type !== 'apply' || operatorOf(node['rhs'] as Node) === undefined) return;
  node['rhs'] = { type: 'block', expressions: [node['rhs']] };
}

function bindOperator(node: Node): void {
  const name = operatorOf(node);
  if (name === undefined) return;
  const { lhs, rhs, position } = node;
  delete node['lhs'];
  delete node['rhs'];
  Object.assign(node, { type: 'function', value: '(', arguments: [lhs, rhs], procedure: { type: 'variable', value: name, position } });
}
