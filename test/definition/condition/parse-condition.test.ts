import * as fc from '../../support/fast-check.ts';
import { expect, test } from 'vitest';
import { parseCondition } from '../../../src/definition/condition/parse-condition.ts';
import { ConditionFault } from '../../../src/definition/condition/tokens.ts';

function faultOf(text: string): { readonly message: string; readonly at: number } {
  try {
    parseCondition(text);
  } catch (error) {
    if (error instanceof ConditionFault) return { message: error.message, at: error.at };
    throw error;
  }
  throw new Error('it was read');
}

test('the word and binds closer than or, not closer than both, and brackets closest', () => {
  const title = { kind: 'empty', value: { kind: 'path', path: ['input', 'Job Title'], at: 8 } };
  expect(parseCondition("a.b = 1 or not x.y != 'z' and (x.y < 2 or a.b > 3)")).toMatchObject({
    kind: 'or',
    of: [
      { kind: 'compare', operator: '=' },
      {
        kind: 'and',
        of: [
          { kind: 'not', of: { kind: 'compare', operator: '!=' } },
          { kind: 'or', of: [{}, {}] },
        ],
      },
    ],
  });
  expect(parseCondition('    not input."Job Title" is empty')).toEqual({ kind: 'not', of: { ...title, value: { ...title.value, at: 9 } } });
});

test.each([
  ['', 'expected a column, a result or a value, got the end', 1],
  ['enrich.title', 'expected =, !=, <, <=, >, >=, in, contains or is, got the end', 13],
  ['enrich.title = VP', 'a text needs quotes: "VP"; a column is input.VP', 16],
  ['enrich.title = "VP', 'this quote is not closed', 16],
  ['enrich.title is', 'expected empty after is, got the end', 16],
  ['enrich.title in "a"', 'expected [, got "a"', 17],
  ['enrich.title in ["a"', 'expected ], got the end', 21],
  ['(enrich.title = "a"', 'expected ), got the end', 20],
  ['enrich.title = "a" "b"', 'expected and, or, or the end, got "b"', 20],
  ['enrich.title && 1', '"&" has no meaning here', 14],
  ['enrich. = 1', 'expected a name after the dot, got "="', 9],
  [`${'('.repeat(60)}a.b = 1`, 'brackets are more than 50 deep', 52],
])('%s says what is wrong, and where', (text, message, at) => {
  expect(faultOf(text)).toEqual({ message, at });
});

test('any text is read, or refused at a place in it', () => {
  const words = fc.constantFrom(
    'and',
    'or',
    'not',
    '(',
    ')',
    'a.b',
    '=',
    '<',
    '"x"',
    "'",
    '[',
    ']',
    ',',
    'in',
    'is',
    'empty',
    '1',
    '.',
    '§',
  );
  fc.assert(
    fc.property(fc.array(words, { maxLength: 12 }), (all) => {
      const text = all.join(' ');
      try {
        parseCondition(text);
      } catch (error) {
        expect(error).toBeInstanceOf(ConditionFault);
        expect((error as ConditionFault).at).toBeLessThanOrEqual(text.length + 1);
      }
    }),
  );
});
