import { describe, expect, test } from 'vitest';
import type { DocumentKind } from '../../src/documents/document-kind.ts';
import { parseDocument } from '../../src/documents/parse-document.ts';
import { refusalOf } from '../definition/support.ts';
import * as fc from '../support/fast-check.ts';

const RECIPE: DocumentKind = {
  noun: 'recipe file',
  content: 'recipe',
  codes: { syntax: 'recipe_syntax', unreadable: 'recipe_unreadable', tooLarge: 'recipe_too_large' },
  quoted: '"*"',
  adviceFor: () => null,
};
const linesOf = (text: string): Record<string, number> => Object.fromEntries(parseDocument(text, 'x.yaml', RECIPE).lines);

describe('the line of each key', () => {
  test('lines are known in mappings, in lists, and in mappings within lists', () => {
    const text = 'name: tea\nsteps:\n  - boil\n  - {wait: 3, unit: min}\n  -\n    - a\n    - b: 1\n';
    expect(linesOf(text)).toEqual({
      name: 1,
      steps: 2,
      'steps[0]': 3,
      'steps[1]': 4,
      'steps[1].wait': 4,
      'steps[1].unit': 4,
      'steps[2]': 6,
      'steps[2][0]': 6,
      'steps[2][1]': 7,
      'steps[2][1].b': 7,
    });
  });

  test('a line is the one where the key stands, for lists of any shape written as JSON with one value a line', () => {
    const leaf = fc.constantFrom<unknown>(null, true, 1, 'text');
    const value = fc.letrec<{ node: unknown }>((tie) => ({
      node: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie('node'), { maxLength: 4 }), fc.dictionary(fc.constantFrom('a', 'b'), tie('node'))),
    })).node;
    fc.assert(
      fc.property(value, (node) => {
        const text = JSON.stringify({ root: node }, null, 2);
        const { lines, value: parsed } = parseDocument(text, 'x.json', RECIPE);
        expect(parsed).toEqual({ root: node });
        const written = text.split('\n');
        for (const [path, line] of lines) {
          const key = /\.?([^.[\]]+)$/.exec(path)?.[1];
          expect(written[line - 1]?.trimStart().startsWith(key === undefined ? '' : `"${key}":`)).toBe(true);
        }
      }),
    );
  });
});

describe('a document that cannot be parsed', () => {
  test.each([
    ['a: [1\nb: 2', /^x\.yaml, line 2: /],
    ['a:\n  - b: 1\n    b: 2', /^x\.yaml, line 3: the key b is given twice, first on line 2$/],
    ['a: 1\n---\nb: 2', /^x\.yaml, line 2: a second document begins here: a recipe file holds one recipe$/],
    ['['.repeat(1000), /line 1: brackets are nested more than 64 deep/],
    ['a: 1\nb: *c', /line 2: \*c is an alias of nothing$/],
  ])('%j is refused in the words of its kind', (text, message) => {
    const error = refusalOf(() => parseDocument(text, 'x.yaml', RECIPE));
    expect(error).toMatchObject({ code: 'recipe_syntax', exitCode: 78 });
    expect(error.message).toMatch(message);
    expect(error.hint).toMatch(/^A recipe file is one YAML or JSON mapping\. .*: "\*"\.$/);
  });

  test('a key may repeat in another mapping, and may hold dots and brackets', () => {
    expect(parseDocument('a: {b: 1}\n"a.b": 2\n"c[0]": 3\nc: [4]', 'x.yaml', RECIPE).value).toEqual({
      a: { b: 1 },
      'a.b': 2,
      'c[0]': 3,
      c: [4],
    });
  });
});
