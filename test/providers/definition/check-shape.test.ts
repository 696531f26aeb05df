import { describe, expect, test } from 'vitest';
import { compileProvider } from '../../../src/providers/definition/compile-provider.ts';
import { providerSchema } from '../../../src/providers/definition/schema.ts';
import * as fc from '../../support/fast-check.ts';
import { refusalOf } from '../../definition/support.ts';
import { LEAST, refused } from './support.ts';

describe('an unknown key', () => {
  test.each([
    [`${LEAST}basUrl: https://a.example`, /^There is no key basUrl; did you mean baseUrl\? \(acme\.yaml, line 7\)$/],
    [
      LEAST.replace('request:', 'reqest:'),
      /^There is no key operations\.enrich\.reqest; did you mean operations\.enrich\.request\? \(acme\.yaml, line 4\)$/,
    ],
    [
      `${LEAST}    answers: {mach: "true"}`,
      /^There is no key operations\.enrich\.answers\.mach; did you mean operations\.enrich\.answers\.match\? \(acme\.yaml, line 7\)$/,
    ],
    [
      `${LEAST}quota:\n  headers:\n    - limit: a\n      windw: day`,
      /^There is no key quota\.headers\[0\]\.windw; did you mean quota\.headers\[0\]\.window\? \(acme\.yaml, line 10\)$/,
    ],
    [`${LEAST}zzz: 1`, /^There is no key zzz \(acme\.yaml, line 7\)$/],
  ])('%#: names file, line, key and the nearest known key', (text, message) => {
    const error = refused(text);
    expect(error).toMatchObject({ code: 'unknown_key', exitCode: 78, hint: expect.stringMatching(/^Keys of [\w.[\] ]+: \w+, /) });
    expect(error.message).toMatch(message);
  });

  test('any misspelt key of the schema is found', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(providerSchema.shape)), fc.nat(), (name, at) => {
        const misspelt = `${name.slice(0, at % name.length)}${name.slice((at % name.length) + 1)}`;
        fc.pre(misspelt.length > 2 && !(misspelt in providerSchema.shape));
        expect(refused(`${LEAST}${misspelt}: 1`).message).toBe(`There is no key ${misspelt}; did you mean ${name}? (acme.yaml, line 7)`);
      }),
    );
  });
});

describe('a wrong value', () => {
  test.each([
    [
      LEAST.replace('[email]', '[email, emial]'),
      /^operations\.enrich\.keys\[1\] must be email, linkedin_url, phone, .*, got "emial"; did you mean email\? \(acme\.yaml, line 3\)$/,
    ],
    [LEAST.replace('[email]', '\n      - email\n      - 5'), /^operations\.enrich\.keys\[1\] must be .*, got 5 \(acme\.yaml, line 5\)$/],
    [LEAST.replace('[email]', 'email'), /^operations\.enrich\.keys must be a list out of email, .*, got "email" \(acme\.yaml, line 3\)$/],
    [
      LEAST.replace(/record:.*/, 'record: 5'),
      /^operations\.enrich\.record must be a JSONata expression as text, or a mapping or list of .*, got 5 \(acme\.yaml, line 6\)$/,
    ],
    [
      LEAST.replace('path:', 'query: {limit: [1]}\n      path:'),
      /^operations\.enrich\.request\.query\.limit must be a JSONata expression .*, or true or false, got \[1\] \(acme\.yaml, line 5\)$/,
    ],
    [
      LEAST.replace(/path:.*/, 'query: {}'),
      /^operations\.enrich\.request\.path is missing: a path such as \/people\/\{email\} \(acme\.yaml, line 4\)$/,
    ],
    [`${LEAST}timeoutMs: fast`, /^timeoutMs must be milliseconds, a whole number from 100 to 600000, got "fast" \(acme\.yaml, line 7\)$/],
    [`${LEAST}readOn: 2026-02-30`, /^readOn must be a day written YYYY-MM-DD, got "2026-02-30"/],
    [`${LEAST}client: declare`, /^client must be declared or built-in, got "declare"; did you mean declared\?/],
    [
      `${LEAST}quota: {plans: {pro: [5/fortnight]}}`,
      /^quota\.plans\.pro\[0\] must be a window such as 100\/minute, .*, got "5\/fortnight" \(acme\.yaml, line 7\)$/,
    ],
    [
      `${LEAST}quota: {plans: {Pro: []}}`,
      /^quota\.plans\.Pro: the name must be lower-case letters, digits, \. _ and -, got "Pro" \(acme\.yaml, line 7\)$/,
    ],
    [`${LEAST}headers: {"a b": c}`, /^headers\.a b: the name must be a header's name, got "a b"/],
    [`${LEAST}tls: yes`, /^tls must be a mapping with caFile, certFile, keyFile, got "yes"/],
    ['name: acme', /^operations is missing: a mapping with enrich, verify, company, reveal, or a custom step \(acme\.yaml\)$/],
    ['[1, 2]', /^A provider definition must be a mapping of keys, got \[1,2\] \(acme\.yaml\)$/],
  ])('%#: names line, key and what is expected', (text, message) => {
    const error = refused(text);
    expect(error.exitCode).toBe(78);
    expect(error.message).toMatch(message);
  });

  test('the wrong key that stands first in the file is named first', () => {
    expect(refused('concurrency: many\nnmae: x\noperations: 5').message).toMatch(/^concurrency must be/);
    expect(refused('nmae: x\nconcurrency: many\noperations: 5').message).toMatch(/^There is no key nmae/);
  });
});

test('any value is compiled or refused in words', () => {
  const name = fc.constantFrom(
    'name',
    'operations',
    'enrich',
    'keys',
    'request',
    'path',
    'body',
    'record',
    'answers',
    'quota',
    'plans',
    'headers',
    'batch',
    '__proto__',
    'x',
  );
  const value = fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom<unknown>(null, true, 0, 'email', '/{email}', 'body', '{', [] as const),
      fc.array(tie('node'), { maxLength: 3 }),
      fc.array(fc.tuple(name, tie('node')), { maxLength: 4 }).map((entries) => Object.fromEntries(entries)),
    ),
  })).node;
  fc.assert(
    fc.property(value, (any) => {
      try {
        expect(compileProvider({ file: 'acme.yaml', value: any, places: new Map() }).name).toBeTypeOf('string');
      } catch (error) {
        expect(error).toMatchObject({ exitCode: 78, message: expect.stringMatching(/\(acme\.yaml\)$/) });
      }
    }),
  );
});

test('a refusal never quotes more than a piece of a long value', () => {
  const error = refusalOf(() =>
    compileProvider({ file: 'acme.yaml', value: { client: 'x'.repeat(5000), operations: {} }, places: new Map() }),
  );
  expect(error.message.length).toBeLessThan(250);
});
