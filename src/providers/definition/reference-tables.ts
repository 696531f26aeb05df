/** The tables of all keys in docs/providers.md, made of the schema. Pure. */
import { isObject } from '../../util/is-object.ts';
import { providerSchemaText } from './reference.ts';

type Node = Readonly<Record<string, unknown>>;

export const BEGIN = '<!-- keys: written by src/providers/definition/write-schema.ts -->';
export const END = '<!-- end of keys -->';

/** Parts that several keys share, each with a table of its own. */
const SHARED = ['operation', 'request', 'answers', 'batch', 'poll', 'quota'] as const;

/** The page with its tables renewed. @throws when it lacks the marks around them */
export function withTables(page: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin === -1 || end < begin) throw new Error('docs/providers.md lacks the marks around the tables of keys');
  return `${page.slice(0, begin + BEGIN.length)}\n\n${tables()}\n${page.slice(end)}`;
}

function tables(): string {
  const schema = JSON.parse(providerSchemaText()) as Node;
  const shared = schema['$defs'] as Readonly<Record<string, Node>>;
  const table = (heading: string, node: Node): string =>
    [`### ${heading}`, '', '| key | means |', '|---|---|', ...rows(node, '').map(([key, means]) => `| \`${key}\` | ${means} |`), ''].join(
      '\n',
    );
  const headings = {
    operation: 'One of `operations`',
    request: 'A `request`',
    answers: '`answers`',
    batch: '`batch`',
    poll: '`poll`',
    quota: 'A `quota`',
  };
  return [table('The definition', schema), ...SHARED.map((name) => table(headings[name], shared[name] ?? {}))].join('\n');
}

function rows(node: Node, prefix: string): (readonly [key: string, means: string])[] {
  return Object.entries((node['properties'] ?? {}) as Readonly<Record<string, Node>>).flatMap(([name, member]) => {
    const own = bare(member);
    const items = isObject(own['items']) ? bare(own['items']) : own;
    const key = `${prefix}${name}${items === own ? '' : '[]'}`;
    const { description } = member;
    const means = typeof description === 'string' ? description.replaceAll('|', '\\|') : '';
    return [[`${prefix}${name}`, means] as const, ...rows(items, `${key}.`)];
  });
}

/** Without the permission to be null. */
function bare(node: Node): Node {
  const [first] = Array.isArray(node['anyOf']) ? (node['anyOf'] as Node[]) : [];
  return first ?? node;
}
