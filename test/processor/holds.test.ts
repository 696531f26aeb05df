import { expect, test } from 'vitest';
import * as fc from '../support/fast-check.ts';
import { parseCondition } from '../../src/definition/condition/parse-condition.ts';
import { compileCondition, type ConditionValue, type Truth } from '../../src/processor/holds.ts';

const VALUES: Readonly<Record<string, ConditionValue>> = {
  'input.n': '1,200',
  'input.title': ' VP Sales ',
  'input.blank': '  ',
  'enrich.stack': ['Salesforce', 'AWS'],
  'enrich.verified': 'true',
  'enrich.null': null,
  'enrich.unknown': undefined,
};
const truthOf = (text: string): Truth =>
  compileCondition<typeof VALUES>(
    parseCondition(text),
    ({ path }) =>
      (all) =>
        all[path.join('.')],
  )(VALUES);

test.each<[string, Truth]>([
  ["input.title = 'vp sales'", true],
  ["input.title contains 'VP'", true],
  ["input.title != 'cto'", true],
  ['input.n = 1200', true],
  ['input.n > 200', true],
  ["input.n in ['x', 1200.0]", true],
  ["enrich.stack contains 'aws'", true],
  ["enrich.stack contains 'sales'", false],
  ["enrich.stack = 'salesforce;aws'", true],
  ['enrich.verified = true', true],
  // An absent value makes a comparison false, also one that asks for another value.
  ["input.blank = ''", false],
  ["enrich.null != 'x'", false],
  ['input.blank is empty', true],
  ['not enrich.null is empty', false],
  ["not enrich.null = 'x'", true],
  ["enrich.unknown = 'x'", null],
  ["not enrich.unknown = 'x'", null],
  ["enrich.unknown = 'x' and input.n = 1", false],
  ["enrich.unknown = 'x' or input.n = 1200", true],
  ["enrich.unknown = 'x' or input.n = 1", null],
  ['enrich.unknown is empty', null],
  ["'2026-01-05' < '2026-02-01'", true],
])('%s is %s', (text, expected) => {
  expect(truthOf(text)).toBe(expected);
});

test('a condition that is true or false with an unknown value stays so, whatever the value is', () => {
  const leaf = fc.constantFrom('a.b = 1', 'c.d = 1', "input.n = '1'", 'c.d is empty', 'a.b is not empty');
  const { condition } = fc.letrec<{ condition: string }>((tie) => ({
    condition: fc.oneof(
      { maxDepth: 4 },
      leaf,
      tie('condition').map((one) => `not (${one})`),
      fc.tuple(tie('condition'), fc.constantFrom('and', 'or'), tie('condition')).map(([one, word, other]) => `(${one}) ${word} (${other})`),
    ),
  }));
  const value = fc.constantFrom<ConditionValue>('1', '2', null);
  fc.assert(
    fc.property(condition, value, value, (text, known, hidden) => {
      const holds = compileCondition<Record<string, ConditionValue>>(
        parseCondition(text),
        ({ path }) =>
          (all) =>
            all[path.join('.')],
      );
      const partly = holds({ 'a.b': known, 'c.d': undefined, 'input.n': '1' });
      const whole = holds({ 'a.b': known, 'c.d': hidden, 'input.n': '1' });
      expect(whole).not.toBeNull();
      if (partly !== null) expect(whole).toBe(partly);
    }),
  );
});
