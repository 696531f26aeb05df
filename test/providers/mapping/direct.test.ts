/** The evaluation without JSONata against JSONata itself. */
import jsonata from 'jsonata';
import { expect, it } from 'vitest';
import { compileMapping } from '../../../src/providers/mapping.ts';
import { compileDirect, LEAVE } from '../../../src/providers/mapping/direct.ts';
import { plainValue } from '../../../src/providers/mapping/plain-value.ts';
import * as fc from '../../support/fast-check.ts';
import { casesOf } from '../../support/sample.ts';

const name = fc.constantFrom('a', 'b', 'c');
const literal = fc.constantFrom('1', '0', '-2.5', '"x"', '""', '"1"', 'true', 'false', 'null');
const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join('.'));

const { text } = fc.letrec<{ text: string }>((tie) => {
  const part = tie('text');
  const binary = fc.tuple(part, fc.constantFrom('=', '!=', '<', '<=', '>', '>=', '&', 'and', 'or'), part);
  const object = fc.uniqueArray(fc.tuple(fc.constantFrom('p', 'q', '1', '0'), part), { maxLength: 3, selector: ([key]) => key });
  return {
    text: fc.oneof(
      { maxDepth: 4, depthIdentifier: 'text' },
      path,
      literal,
      binary.map(([one, operator, other]) => `(${one}) ${operator} (${other})`),
      fc.tuple(part, fc.array(literal, { maxLength: 3 })).map(([one, list]) => `(${one}) in [${list.join(', ')}]`),
      fc.tuple(part, part, part).map(([test, one, other]) => `(${test}) ? (${one}) : (${other})`),
      fc.tuple(part, part).map(([test, one]) => `(${test}) ? (${one})`),
      fc.tuple(fc.constantFrom('exists', 'not', 'lowercase', 'uppercase'), part).map(([call, one]) => `$${call}(${one})`),
      object.map((members) => `{${members.map(([key, one]) => `"${key}": (${one})`).join(', ')}}`),
    ),
  };
});

const leaf = fc.constantFrom<unknown>(1, 0, -2.5, 'x', 'X', '', '1', true, false, null);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, depthIdentifier: 'value' },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'c', '_jsonata_lambda'), tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}));
const input = fc.dictionary(name, value, { maxKeys: 3, noNullPrototype: true });

/** An answer may hold what JSONata takes for its own functions: neither way gives a value then. */
function outcome(found: unknown): unknown {
  try {
    return plainValue(found);
  } catch (error) {
    return String(error);
  }
}

it('a mapping has the value that JSONata gives it', async () => {
  let direct = 0;
  await fc.assert(
    fc.asyncProperty(text, input, async (expression, given) => {
      const parsed = jsonata(expression);
      const found = compileDirect(parsed.ast())?.(given) ?? LEAVE;
      if (found === LEAVE) return;
      direct++;
      expect(outcome(found)).toEqual(outcome(await parsed.evaluate(given)));
    }),
    { numRuns: 5_000 },
  );
  expect(direct).toBeGreaterThan(casesOf(300, 1_000));
});

it.each([
  'a[0]',
  'a[]',
  '$.a',
  'a.$uppercase(b)',
  '$sum(a)',
  'a + 1',
  '{"p": a, "p": b}',
  '{"__proto__": a}',
  '(a; b)',
  'a in b',
  'a^(b)',
  'a@$x.b',
  '**.a',
  '$exists(a, b)',
])('%s is left to JSONata', (expression) => {
  // `$exists` with two arguments is refused when it is called.
  expect(compileDirect(jsonata(expression).ast())).toBeNull();
});

it.each([500, 2_000])('a chain of %i conditions has a value, or a message that names its mapping', async (length) => {
  const mapping = compileMapping('record', `a${' and a'.repeat(length)}`, '');
  const said = await mapping.evaluate({ a: true }).catch((error: unknown) => error);
  if (said !== true) expect(said).toMatchObject({ name: 'MappingError', key: 'record' });
});

it('a mapping that gives a part of the input which is too deep says so, as JSONata does', async () => {
  let deep: unknown = 1;
  for (let depth = 0; depth < 300; depth++) deep = { a: deep };
  await expect(compileMapping('record', 'a', '').evaluate({ a: deep })).rejects.toMatchObject({ failure: 'too_deep' });
});
