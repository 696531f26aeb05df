import jsonata from 'jsonata';
import { describe, expect, test } from 'vitest';
import { compileMapping, MappingError } from '../../src/providers/mapping.ts';
import { compileTree } from '../../src/providers/mapping/compile-tree.ts';
import { FUNCTIONS, REFUSED_FUNCTIONS } from '../../src/providers/mapping/functions.ts';
import { ConfigError } from '../../src/util/errors.ts';
import * as fc from '../support/fast-check.ts';
import { casesOf } from '../support/sample.ts';

const KEY = 'operations.enrich.record';
const evaluate = (text: string, input: unknown = {}): Promise<unknown> => compileMapping(KEY, text, '').evaluate(input);

function refusalOf(text: string): ConfigError {
  try {
    compileMapping(KEY, text, 'acme.yaml, line 12');
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
  throw new Error(`${text} was not refused`);
}

async function failureOf(text: string, input: unknown = {}): Promise<MappingError> {
  const error: unknown = await evaluate(text, input).catch((reason: unknown) => reason);
  if (error instanceof MappingError) return error;
  throw new Error(`${text} did not fail: ${JSON.stringify(error)}`);
}

describe('an expression is refused when it', () => {
  test.each([
    ['$contains(a, /(x+)+y/)', /^operations\.enrich\.record at character \d+: a regular expression can run for ever/],
    ['a[$match($, /x/)]', /a regular expression/],
    ['$eval(body)', /at character 1: \$eval is refused: it runs text as code/],
    ['a & $now()', /at character 5: \$now is refused: it gives another value each time/],
    ['$millis()', /\$millis is refused/],
    ['$map(a, $random)', /at character 9: \$random is refused/],
    ['($shuffle := 1; $shuffle)', /\$shuffle is refused: it gives another order each time/],
    ['$uppercas(name)', /at character 1: there is no \$uppercas; did you mean \$uppercase\?/],
    ['a.b[$i = 1]', /there is no \$i/],
    ['uppercase(name)', /uppercase\( calls no function/],
    ['{"a": b', /at character 7: Expected "}" before end of expression/],
    ['a &\n b.(c', /at line 2 of the expression, character 5: Expected/],
    ['('.repeat(30_000), /nested too deep/],
    ['a'.repeat(70_000), /at most 65536 characters/],
    ['', /Unexpected end of expression/],
  ])('reads %.30j', (text, message) => {
    const error = refusalOf(text);
    expect(error).toMatchObject({ code: 'bad_mapping', exitCode: 78, hint: expect.any(String) });
    expect(error.message).toMatch(message);
    expect(error.message).toMatch(/ \(acme\.yaml, line 12\)$/);
  });

  test('calls any of the functions that give another value each time or load code', () => {
    expect(Object.keys(REFUSED_FUNCTIONS).filter((name) => !FUNCTIONS.includes(name))).toEqual(Object.keys(REFUSED_FUNCTIONS));
    for (const name of Object.keys(REFUSED_FUNCTIONS)) {
      expect(refusalOf(`a.$${name}(b)`).message).toContain(`$${name} is refused`);
      expect(refusalOf(`b ~> $${name}`).message).toContain(`$${name} is refused`);
    }
  });
});

/** As large as an answer may be. */
const HOSTILE = {
  list: Array.from({ length: 1_000_000 }, (_, index) => index),
  text: 'x'.repeat(8_000_000),
  records: Array.from({ length: 9_000 }, (_, id) => ({ id, group: String(id % 100) })),
};
const NESTED: unknown = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`);

describe('an evaluation ends within its bounds', () => {
  test.each([
    ['too_long', '($f := function($x){ $f($x) }; $f(1))'],
    ['too_long', '$map([1..9999], function($i){ $map([1..9999], function($j){ $j }) })'],
    ['too_large', '$$.records[$$.records.id = id]'],
    ['too_deep', '($f := function($x){ 1 + $f($x) }; $f(1))'],
    ['too_long', '$map([1..9999], function($i){ $sum($$.list) })'],
    ['too_large', '$pad("x", 1000000000)'],
    ['too_large', '$pad("x", -1000000000)'],
    ['too_large', '[1..10000000]'],
    ['too_large', '$join([1..10000000].$string())'],
    ['too_large', '$map([1..9999], function($i){ [[1..9999]] })'],
    ['too_large', '$reduce([1..60], function($a, $b){ $a & $a }, "xxxxxxxxxx")'],
    ['too_large', '$reduce([1..60], function($a, $b){ $append($a, $a) }, [1, 2])'],
    ['too_large', '$string($)'],
    ['too_large', '"" & $'],
    ['too_large', '$clone($)'],
    ['too_large', '$length(text)'],
    ['too_large', '$substring(text, 1)'],
    ['too_large', '$split(text, "")'],
    ['too_large', '$replace(text, "x", "yyyyyyyy")'],
    ['too_large', '$join(list.$string($), ", ")'],
    ['too_large', '$encodeUrlComponent(text)'],
    ['too_large', '$base64encode(text)'],
    ['too_large', '$distinct(list)'],
    ['too_large', '$sort(list)'],
    ['too_large', '$reverse(list)'],
    ['too_large', '$zip(list, list)'],
    ['too_large', '$spread(records)'],
    ['too_large', 'list.missing'],
    ['too_large', '*'],
    ['too_large', '**'],
    ['too_large', '$map([1..9999], function($i){ $$.records.** })'],
    ['too_large', 'records.$$.records'],
    ['too_large', '$map([1..9999], function($i){ $$.records })'],
    ['too_large', '$toMillis($join([1..90].$string($)), "[Y][M][D][H][m][s]")'],
  ])('%s: %s', async (failure, text) => {
    const error = await failureOf(text, HOSTILE);
    expect(error).toMatchObject({ failure, key: KEY });
    expect(error.message).toMatch(/^The mapping operations\.enrich\.record (?:ran for too long|went too deep|grew too large)/);
  });

  test('values that are nested deeper than the stack are refused', async () => {
    for (const text of ['**', '$string($)', '$']) expect(await failureOf(text, NESTED)).toMatchObject({ failure: 'too_deep' });
    const deep: unknown = JSON.parse(`${'['.repeat(300)}${']'.repeat(300)}`);
    expect((await failureOf('$', deep)).reason).toBe('its result is nested more than 200 deep');
  });

  test('the budget belongs to one evaluation, also when many are asked for at once', async () => {
    const heavy = compileMapping('heavy', '$count($map([1..500], function($i){ [1..500] }))', '');
    const results = await Promise.all([
      evaluate('[1..10000000]').catch(() => 'failed'),
      ...Array.from({ length: 20 }, () => heavy.evaluate({})),
    ]);
    expect(results).toEqual(['failed', ...Array.from({ length: 20 }, () => 500)]);
  });
});

describe('an evaluation that fails', () => {
  test.each([
    ['$sum(["a"])', /failed at character 5 of its expression: Argument 1 of function "sum" must be an array of "numbers"$/],
    ['1 + "a"', /failed at character 3 of its expression: The right side of the "\+" operator must evaluate to a number$/],
    ['$number(body)', /Unable to cast value to a number: "x{150,190}…$/],
    ['["a".."b"]', /The left side of the range operator \(\.\.\) must evaluate to an integer$/],
    ['$error("no seat is free")', /: no seat is free$/],
  ])('%s says why in words', async (text, message) => {
    const error = await failureOf(text, { body: 'x'.repeat(500) });
    expect(error.failure).toBe('threw');
    expect(error.message).toMatch(message);
  });

  test.each(['$sum', 'function($x){ $x }', '{"a": [$count]}', '1/0', '0/0'])('%s is no value of JSON', async (text) => {
    expect(await failureOf(text)).toMatchObject({ failure: 'bad_result' });
  });

  test('data that looks like a function of JSONata runs no code', async () => {
    const body = { procedure: { type: 'variable', value: 'now' }, arguments: [] };
    const item = { _jsonata_lambda: true, thunk: true, body, input: {}, environment: {}, arguments: [] };
    expect(await failureOf('$map(items, function($x){ $x.item })', { items: [{ item }] })).toMatchObject({ failure: 'threw' });
    expect(await failureOf('item', { item })).toMatchObject({ failure: 'bad_result' });
  });
});

describe('the result of an evaluation', () => {
  test('a result has no hidden properties, is undefined when nothing is found, and keeps __proto__ as data', async () => {
    const input: unknown = JSON.parse('{"items": [{"n": 1}, {"n": 2}], "odd": {"__proto__": {"admin": true}}}');
    expect(Object.getOwnPropertyNames(await evaluate('items.n', input))).toEqual(['0', '1', 'length']);
    expect(await evaluate('items.missing', input)).toBeUndefined();
    const made = await evaluate('{"list": items.n, "none": missing, "odd": odd, "__proto__": 1}', input);
    expect(JSON.stringify(made)).toBe('{"list":[1,2],"odd":{"__proto__":{"admin":true}},"__proto__":1}');
    expect(Object.getPrototypeOf(made)).toBe(Object.prototype);
  });

  test('a result is the same as that of JSONata without bounds', async () => {
    const name = fc.constantFrom('a', 'b', 'c');
    const text = fc.constantFrom('', 'x', 'y-x', 'é𝒳 x', '12');
    const data = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.constantFrom<unknown>(null, true, false, 0, 1, -2.5),
        text,
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(name, tie('value'), { maxKeys: 3 }),
      ),
    })).value;
    const path = fc.array(name, { minLength: 1, maxLength: 2 }).map((names) => names.join('.'));
    const literal = fc.constantFrom("'x'", "'-'", '2', '0', '-3', 'null');
    const call = fc
      .tuple(
        fc.constantFrom(...FUNCTIONS.filter((one) => one !== 'error')),
        fc.array(fc.oneof(path, literal, fc.constant('function($x){$x}')), { maxLength: 3 }),
      )
      .map(([called, args]) => `$${called}(${args.join(', ')})`);
    const whole = fc.oneof(
      call,
      fc.tuple(path, fc.constantFrom('&', '=', 'in', 'and', '<', '+'), fc.oneof(path, literal)).map((parts) => parts.join(' ')),
      fc.tuple(path, literal).map(([one, other]) => `{"p": ${one}, "l": [${other}, ${one}], "r": [1..3][$ = ${other}]}`),
      path.map((one) => `${one} ~> $string & "!"`),
      path.map((one) => `(${one} ~> $string) & "!" & $map([1..2], function($i){ $i & ${one} })`),
    );
    await fc.assert(
      fc.asyncProperty(whole, data, async (expression, input) => {
        const expected = await settled(async () => plain(await jsonata(expression).evaluate(input)));
        const found = await settled(async () => plain(await evaluate(expression, input)));
        expect(found).toEqual(expected);
      }),
      { numRuns: casesOf(600, 6000) },
    );
  });

  /** Failures are equal whatever their words are. */
  async function settled(work: () => Promise<unknown>): Promise<unknown> {
    return work().catch(() => 'failed');
  }

  /** As JSON; functions and numbers that it cannot hold count as failures. */
  function plain(value: unknown): unknown {
    const isFunction = (one: unknown): boolean =>
      typeof one === 'object' && one !== null && ('_jsonata_lambda' in one || '_jsonata_function' in one);
    return JSON.stringify(value, (_, one: unknown) => {
      if (isFunction(one) || typeof one === 'function' || (typeof one === 'number' && !Number.isFinite(one)))
        throw new Error('no value of JSON');
      return one;
    });
  }
});

describe('a mapping written as YAML', () => {
  const placeOf = (key: string): string => `acme.yaml, key ${key}`;

  test('becomes one expression: text is JSONata, other leaves stand for themselves', async () => {
    const tree = {
      email: 'body.mail',
      n: -1.5,
      yes: true,
      none: null,
      list: ['body.a', 2],
      'odd "key"': { deep: ['$count(body.a) & "x"'] },
      o: {},
      l: [],
    };
    const input = { body: { mail: 'ana@works.example', a: [7, 8] } };
    expect(await compileTree('record', tree, placeOf).evaluate(input)).toEqual({
      email: 'ana@works.example',
      n: -1.5,
      yes: true,
      none: null,
      list: [7, 8, 2],
      'odd "key"': { deep: ['2x'] },
      o: {},
      l: [],
    });
  });

  test('leaves out a member whose expression finds nothing, and survives comments', async () => {
    expect(await compileTree('record', { a: 'missing', b: 'b /* the second */' }, placeOf).evaluate({ b: 1 })).toEqual({ b: 1 });
  });

  test.each([
    [{ a: { b: ['1', 'x.('] } }, /^record\.a\.b\[1\] at character 3: .* \(acme\.yaml, key record\.a\.b\[1\]\)$/],
    [{ a: '1) & (2' }, /^record\.a at character 2: Syntax error: "\)"/],
    [{ a: '$now()' }, /^record\.a at character 1: \$now is refused/],
  ])('names the leaf that does not parse: %j', (tree, message) => {
    expect(() => compileTree('record', tree, placeOf)).toThrow(message);
  });

  test('names the leaf that fails later, with the position in that leaf', async () => {
    const mapping = compileTree('record', { ok: 'a', company: { size: ['a', '$sum(a)'] } }, placeOf);
    const error: unknown = await mapping.evaluate({ a: 'text' }).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ key: 'record.company.size[1]' });
    expect((error as Error).message).toMatch(/^The mapping record\.company\.size\[1\] failed at character 5 of its expression/);
  });
});
