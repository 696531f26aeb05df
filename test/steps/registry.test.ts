/** The registry of steps, and that no other room lists them (docs/decisions/steps.md). */
import { globSync, readFileSync } from 'node:fs';
import { parseAst } from 'rolldown/parseAst';
import { describe, expect, it } from 'vitest';
import { COMPANY_FIELDS } from '../../src/client/answer-fields.ts';
import { KEYS, namesOf } from '../../src/steps/keys.ts';
import { BY_RANK, SPECS, STEPS } from '../../src/steps/registry.ts';

/** Where a list of steps may stand: the registry, the calls of a client, commands, and the service, whose operations have these names. */
const MAY_LIST = /^src\/(?:steps|client|service|cli)\//;
const NAMES: ReadonlySet<unknown> = new Set(STEPS);
/** Names of columns: a list of these alone lists no steps. */
const COLUMNS: ReadonlySet<unknown> = new Set(Object.values(KEYS).flatMap(({ parts }) => parts.flat()));

interface Node {
  readonly type: string;
  readonly start: number;
  readonly [child: string]: unknown;
}

const isNode = (value: unknown): value is Node => typeof value === 'object' && value !== null && 'type' in value;

/** The words of a list, a union, a switch, an object, or a type with members. */
function wordsOf(node: Node): unknown[] {
  const all = (key: string): Node[] => ((node[key] ?? []) as unknown[]).filter(isNode);
  const keyOf = ({ key }: Node): unknown => (isNode(key) ? (key['name'] ?? key['value']) : null);
  switch (node.type) {
    case 'ArrayExpression':
      return all('elements').map(({ value }) => value);
    case 'TSUnionType':
      return all('types').map(({ literal }) => (isNode(literal) ? literal['value'] : null));
    case 'SwitchStatement':
      return all('cases').map(({ test }) => (isNode(test) ? test['value'] : null));
    case 'ObjectExpression':
    case 'ObjectPattern':
      return all('properties').map(keyOf);
    case 'TSTypeLiteral':
      return all('members').map(keyOf);
    case 'TSInterfaceBody':
    case 'ClassBody':
      return all('body').map(keyOf);
    default:
      return [];
  }
}

/** The lines of a program on which two steps or more are listed. */
function listsIn(text: string): number[] {
  const lines: number[] = [];
  const walk = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(walk);
    else if (isNode(value)) {
      const steps = new Set(wordsOf(value).filter((word) => NAMES.has(word)));
      if (steps.size > 1 && [...steps].some((word) => !COLUMNS.has(word))) lines.push(text.slice(0, value.start).split('\n').length);
      Object.values(value).forEach(walk);
    }
  };
  walk(parseAst(text, { lang: 'ts' }));
  return lines;
}

describe('lists of steps outside the registry', () => {
  it.each([
    ["const a = ['enrich', 'verify'];"],
    ["type A = 'company' | 'reveal';"],
    ['const a = { enrich: 1, verify: 2 };'],
    ['const { enrich, reveal } = job;'],
    ['interface A { enrich: string; company?: string }'],
    ['type A = { verify(): void; company: 1 };'],
    ['class A { enrich = 1; verify = 2 }'],
    ["switch (a) { case 'enrich': case 'reveal': }"],
  ])('%s is a list', (text) => {
    expect(listsIn(text)).toEqual([1]);
  });

  it.each([["if (a === 'enrich' || a === 'verify') f();"], ["const a = { enrich: 1 }; const b = ['verify'];"]])(
    '%s lists no steps',
    (text) => {
      expect(listsIn(text)).toEqual([]);
    },
  );

  it('there are none: a new step is added to the registry alone', () => {
    const files = globSync('src/**/*.ts').filter((file) => !MAY_LIST.test(file));
    expect(files.length).toBeGreaterThan(300);
    expect(files.flatMap((file) => listsIn(readFileSync(file, 'utf8')).map((line) => `${file}:${line}`))).toEqual([]);
  });
});

describe('each step', () => {
  it('has keys whose scopes ledgers hold', () => {
    expect(Object.values(KEYS).map(({ scope }) => scope)).toEqual([
      'by email',
      'by linkedin_url',
      'by phone',
      'by name and domain',
      'by name and company',
      'by domain',
    ]);
  });

  it('has a name and a rank of its own', () => {
    expect(new Set(STEPS).size).toBe(SPECS.length);
    expect(new Set(SPECS.map(({ rank }) => rank)).size).toBe(SPECS.length);
    expect(BY_RANK.map(({ name }) => name).toSorted()).toEqual(STEPS.toSorted());
  });

  it.each(SPECS)('$name is usually asked by keys that it has', ({ keys, usual }) => {
    expect(usual.length).toBeGreaterThan(0);
    expect(usual.filter((name) => !namesOf(keys).includes(name))).toEqual([]);
  });

  it.each(SPECS)('$name has columns of fields that its record has', ({ columns, fields, objects = {} }) => {
    const isField = (path: string): boolean => {
      const [root = '', inner] = path.split('.');
      if (inner === undefined) return fields.has(root);
      return fields.get(root) === 'company' ? COMPANY_FIELDS.has(inner) : objects[root]?.includes(inner) === true;
    };
    expect(columns.filter((path) => !isField(path))).toEqual([]);
    expect(Object.keys(objects).filter((object) => !fields.has(object))).toEqual([]);
  });

  it.each(SPECS)('$name follows only a step before it, by a field that is a key', ({ name, follows }) => {
    if (follows === undefined) return;
    const before = SPECS[STEPS.indexOf(name) - 1];
    expect(follows.step).toBe(before?.name);
    expect([before?.fields.has(follows.field), before?.fields.get(follows.unless)]).toEqual([true, 'boolean']);
    expect(KEYS[follows.field].inJobs).toBe(follows.field);
  });
});
