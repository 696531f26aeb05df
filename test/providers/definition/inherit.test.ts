import { expect, test } from 'vitest';
import type { DefinitionFile, Place } from '../../../src/providers/definition/definition-file.ts';
import { inherit, withoutNulls } from '../../../src/providers/definition/inherit.ts';
import { parseDocument } from '../../../src/documents/parse-document.ts';
import { PROVIDER_DEFINITION } from '../../../src/providers/definition/load-provider.ts';
import * as fc from '../../support/fast-check.ts';

const name = fc.constantFrom('a', 'b', 'body', 'c');
const value = fc.letrec<{ node: unknown; map: object }>((tie) => ({
  node: fc.oneof({ maxDepth: 4 }, fc.constantFrom<unknown>(1, 'x', true, null), fc.array(tie('node'), { maxLength: 3 }), tie('map')),
  map: fc.dictionary(name, tie('node'), { maxKeys: 3 }),
})).map;

function file(content: object, path: string): DefinitionFile {
  const { value: parsed, lines } = parseDocument(JSON.stringify(content, null, 1), path, PROVIDER_DEFINITION);
  return { file: path, value: parsed, places: new Map([...lines].map(([key, line]): [string, Place] => [key, { file: path, line }])) };
}

/** Every key of a value. */
function keysIn(node: unknown, path = ''): string[] {
  const own = path === '' ? [] : [path];
  if (Array.isArray(node)) return [...own, ...node.flatMap((member, index) => keysIn(member, `${path}[${index}]`))];
  if (typeof node !== 'object' || node === null) return own;
  return [...own, ...Object.entries(node).flatMap(([key, member]) => keysIn(member, path === '' ? key : `${path}.${key}`))];
}

function merged(base: unknown, over: unknown): unknown {
  const isMap = (node: unknown): node is Record<string, unknown> => typeof node === 'object' && node !== null && !Array.isArray(node);
  if (!isMap(base) || !isMap(over)) return over;
  const names = [...new Set([...Object.keys(base), ...Object.keys(over)])];
  return Object.fromEntries(names.map((key) => [key, key in over ? merged(base[key], over[key]) : base[key]]));
}

test('a definition over another has the keys of both, its own where both have them, and each key its own place', () => {
  fc.assert(
    fc.property(value, value, (below, above) => {
      const base = file(below, 'base.yaml');
      const over = file(above, 'over.yaml');
      const both = inherit(base, over);
      expect(both.file).toBe('over.yaml');
      expect(both.value).toEqual(merged(base.value, over.value));
      expect([...both.places.keys()].sort()).toEqual(keysIn(both.value).sort());
      const own = new Set(keysIn(over.value));
      for (const [key, place] of both.places) expect(place).toEqual((own.has(key) ? over : base).places.get(key));
    }),
  );
});

test('a key whose value is null is left out, except in a body or a record, where null is a value', () => {
  const content = { a: null, b: { c: null, d: 1, list: [null] }, operations: { enrich: { request: { body: { x: null } }, record: null } } };
  expect(withoutNulls(file(content, 'a.yaml')).value).toEqual({
    b: { d: 1, list: [null] },
    operations: { enrich: { request: { body: { x: null } } } },
  });
});
