/** Any document gets a documented answer and never a fault. fast-check prints the seed of a failure. */
import * as fc from '../../support/fast-check.ts';
import { casesOf } from '../../support/sample.ts';
import { Lexer, Source, TokenKind, type GraphQLObjectType } from 'graphql';
import { describe, expect, it } from 'vitest';
import { planOf } from '../../../src/service/graphql/plan.ts';
import { readDocument } from '../../../src/service/graphql/query-document.ts';
import { GraphqlRefusal } from '../../../src/service/graphql/refusal.ts';
import { GRAPHQL_LIMITS, GRAPHQL_TYPE } from '../../../src/service/openapi/graphql-operation.ts';
import { serveStore } from '../harness.ts';
import { ask, SCHEMA, selectionOf, wholeOf, written } from './asking.ts';

const VALUES: Readonly<Record<string, readonly string[]>> = {
  contacts: [
    '',
    '(first: 3)',
    '(filter: { title: "cto", country: ["DE", "US"] }, sort: "name")',
    '(filter: { has_email: true, near: "47,8,10", headcount: "1-100" })',
    '(filter: $filter, first: $n, after: $text)',
  ],
  contact: ['(id: "pe_1")', '(linkedin_url: "x")', '(id: $text)'],
  company: ['(domain: "acme.example")', '(domain: $text)', '(domain: "")'],
  signals: ['', '(type: [funding, hiring], first: 2)', '(since: "2026-01-01", after: $text)', '(first: $n)'],
  enrich: [
    '(id: "pe_1")',
    '(email: $text, verify: $yes)',
    '(domain: "acme.example", required: [company])',
    '(name: "Max Past", domain: "acme.example", min_likelihood: $n)',
  ],
  reveal: ['(id: "pe_2")', '(id: $text, reveal_mobile: $yes)'],
  verifyEmails: ['(emails: ["x@mailinator.com"], mode: syntax)', '(emails: [$text], mode: syntax, timeout_ms: $n)'],
};

const VARIABLES: Readonly<Record<string, string>> = { text: 'String!', n: 'Int', yes: 'Boolean! = true', filter: 'ContactFilter' };

/** Documents that the schema allows. */
function documents(kind: 'query' | 'mutation'): fc.Arbitrary<string> {
  const root = (kind === 'query' ? SCHEMA.getQueryType() : SCHEMA.getMutationType()) as GraphQLObjectType;
  const call = fc
    .constantFrom(...Object.values(root.getFields()))
    .chain((field) =>
      fc
        .tuple(fc.constantFrom(...(VALUES[field.name] ?? [''])), selectionOf(field.type), fc.constantFrom('', '@include(if: $yes)'))
        .map(([args, selection, directive]) => `${field.name}${args} ${directive} ${written(selection)}`),
    );
  return fc.array(call, { minLength: 1, maxLength: 3 }).map((calls) => {
    const body = calls.map((one, n) => `c${n}: ${one}`).join(' ');
    const used = Object.entries(VARIABLES)
      .filter(([name]) => body.includes(`$${name}`))
      .map(([name, type]) => `$${name}: ${type}`);
    return `${kind} Q${used.length === 0 ? '' : `(${used.join(', ')})`} { ${body} __typename }`;
  });
}

const STRAY = [
  '{',
  '}',
  '(',
  ')',
  '[',
  ']',
  ':',
  '!',
  '=',
  '$',
  '@',
  '...',
  '|',
  '&',
  '"',
  '"""',
  '#',
  '\n',
  '\u0000',
  '\ud800',
  'é',
  'null',
  'true',
  '-1',
  '1e999',
  '99999999999',
  '0.5',
  'on Contact',
  'fragment F on Person { name ...F }',
  '...F',
  '... on Company { name }',
  '@skip(if: true)',
  '@skip(if: $none)',
  '@defer',
  '__schema { types { name } }',
  '__type(name: "Person") { name }',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  'name: id',
  'query',
  'mutation',
  'subscription',
  '$text',
  '$n',
];

function tokensOf(text: string): string[] {
  const source = new Source(text);
  const lexer = new Lexer(source);
  const found: string[] = [];
  for (let token = lexer.advance(); token.kind !== TokenKind.EOF; token = lexer.advance()) found.push(text.slice(token.start, token.end));
  return found;
}

type Change = readonly [kind: 'drop' | 'double' | 'swap' | 'put' | 'take', at: number, other: number, stray: string];
const change: fc.Arbitrary<Change> = fc.tuple(
  fc.constantFrom('drop', 'double', 'swap', 'put', 'take'),
  fc.nat(500),
  fc.nat(500),
  fc.constantFrom(...STRAY),
);

/** A document with some of its tokens lost, doubled, changed about, or others put in. */
function changed(document: string, changes: readonly Change[]): string {
  const tokens = tokensOf(document);
  for (const [kind, at, other, stray] of changes) {
    const here = at % tokens.length;
    const there = other % tokens.length;
    if (kind === 'drop' && tokens.length > 1) tokens.splice(here, 1);
    else if (kind === 'double') tokens.splice(here, 0, ...tokens.slice(here, here + 12));
    else if (kind === 'swap') [tokens[here], tokens[there]] = [tokens[there] ?? '', tokens[here] ?? ''];
    else if (kind === 'put') tokens.splice(here, 0, stray);
    else if (tokens.length > 1) tokens[here] = tokens[there] ?? '';
  }
  return tokens.join(' ');
}

const variables = fc.oneof(
  { weight: 3, arbitrary: fc.constant({ text: 'pe_1', n: 5, yes: true, filter: { title: ['cto'] } }) },
  {
    weight: 1,
    arbitrary: fc.record(
      {
        text: fc.oneof(fc.string(), fc.jsonValue()),
        n: fc.oneof(fc.integer(), fc.jsonValue()),
        yes: fc.jsonValue(),
        filter: fc.oneof(
          fc.jsonValue(),
          fc.dictionary(fc.constantFrom('title', 'country', 'near', 'has_email', '__proto__', 'nothing'), fc.jsonValue()),
        ),
      },
      { requiredKeys: [] },
    ),
  },
);

describe('random GraphQL documents', () => {
  it('get a documented answer and never a 500', async () => {
    const service = await serveStore();
    const seen = { good: 0, refused: 0, failed: 0 };
    const sent = fc.tuple(
      fc.constantFrom('query', 'mutation').chain((kind) => documents(kind as 'query')),
      fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 4, arbitrary: fc.array(change, { maxLength: 4 }) }),
      variables,
      fc.constantFrom('application/json', GRAPHQL_TYPE),
    );
    await fc.assert(
      fc.asyncProperty(sent, async ([document, changes, values, accept]) => {
        const { status, data, errors, json } = await ask(service, changed(document, changes), { variables: values, headers: { accept } });
        if ('code' in json) {
          expect([status, json['code']]).toEqual([422, 'validation_failed']);
          return;
        }
        expect([data === undefined && accept === GRAPHQL_TYPE ? 400 : 200, data !== undefined || errors.length > 0]).toEqual([
          status,
          true,
        ]);
        for (const { extensions } of errors) expect(['validation_failed', 'invalid_parameter', 'no_match']).toContain(extensions.code);
        seen[data === undefined ? 'refused' : errors.length > 0 ? 'failed' : 'good']++;
      }),
      { numRuns: 400 },
    );
    expect(Math.min(...Object.values(seen)), JSON.stringify(seen)).toBeGreaterThan(casesOf(6, 20));
  });
});

/** Documents of the largest size allowed. Each is of a kind that makes some validator slow. */
const times = (count: number, make: (n: number) => string): string => Array.from({ length: count }, (_, n) => make(n)).join(' ');
const COMPANY = 'company(domain: "x")';

const LARGE: Readonly<Record<string, string>> = {
  'one field again and again': `{ ${COMPANY} { ${times(4_900, () => 'name')} } }`,
  'one object again and again': `{ ${COMPANY} { ${times(1_200, () => 'hq { city }')} } }`,
  'unknown fields': `{ ${COMPANY} { ${times(4_900, (n) => `x${n}`)} } }`,
  'fragments one after the other': `{ ${COMPANY} { ...F0 } } \
${times(550, (n) => `fragment F${n} on Company { ...F${n + 1} }`)} fragment F550 on Company { name }`,
  'fragments each of all':
    `{ ${COMPANY} { ...F0 } } ` + times(60, (n) => `fragment F${n} on Company { name ${times(60 - n - 1, (m) => `...F${n + m + 1}`)} }`),
  'fragments that double':
    `{ ${COMPANY} { ...F0 } } ${times(300, (n) => `fragment F${n} on Company { ...F${n + 1} ...F${n + 1} }`)}` +
    ' fragment F300 on Company { name }',
  'operations by fragments':
    `${times(200, (n) => `query Q${n} { ${COMPANY} { ...F0 } }`)} ` +
    `${times(200, (n) => `fragment F${n} on Company { ...F${n + 1} }`)} fragment F200 on Company { name }`,
  'calls by one fragment': `{ ${times(100, (n) => `x${n}: ${COMPANY} { ...F }`)} } fragment F on Company { ${times(3_500, () => 'name')} }`,
  variables: `query (${times(900, (n) => `$v${n}: String`)}) { ${COMPANY} { name } }`,
  directives: `{ ${COMPANY} { name ${times(600, () => '@skip(if: false)')} } }`,
  values: `{ contacts(filter: { title: [${times(4_900, () => '"a"')}] }) { totalCount } }`,
  'values of an enum': `{ signals(type: [${times(4_900, (n) => `x${n}`)}]) { edges { cursor } } }`,
  'a name': `{ ${'n'.repeat(99_000)} }`,
  'a text': `{ company(domain: "${'n'.repeat(99_000)}") { name } }`,
  'a block of text': `{ company(domain: """${'\n  x'.repeat(24_000)}""") { name } }`,
  'everything of a hundred people':
    `mutation { ${times(100, (n) => `e${n}: enrich(id: "x") { ...P }`)} } fragment P on Person ` +
    written(wholeOf(SCHEMA.getType('Person') as GraphQLObjectType)),
  'the whole schema':
    '{ __schema { types { name description fields { name description args { name description defaultValue type { name kind ' +
    'description ofType { name ofType { name } } } } type { name kind description enumValues { name } ofType { name kind description ' +
    '} } } inputFields { name description type { name description } } } } }',
};

describe('a GraphQL document of the largest size', () => {
  it.each(Object.entries(LARGE))('gets planned or refused: %s', (_what, query) => {
    // No document exceeds the limit of its size, so that the other limits are tested.
    expect([query.length <= GRAPHQL_LIMITS.length, tokensOf(query).length <= GRAPHQL_LIMITS.tokens]).toEqual([true, true]);
    try {
      planOf(SCHEMA, readDocument(SCHEMA, query), { operationName: null, variables: {} });
    } catch (error) {
      expect(error).toBeInstanceOf(GraphqlRefusal);
    }
  });

  it.each(['{ a ', '{ a(b: [', '{ a(b: {c: ', 'query ($a: ['])('gets refused when its brackets nest too deep: %s', (part) => {
    expect(() => readDocument(SCHEMA, part.repeat(Math.floor(GRAPHQL_LIMITS.length / part.length)))).toThrow('brackets within each other');
  });

  it('gives its calls together at most as much text as one body, however often it uses a variable', () => {
    const document = readDocument(
      SCHEMA,
      `query ($text: String!) { ${times(GRAPHQL_LIMITS.calls, (n) => `x${n}: company(domain: $text) { name }`)} }`,
    );
    const planned = (length: number): number =>
      planOf(SCHEMA, document, { operationName: null, variables: { text: 'x'.repeat(length) } }).length;
    expect(planned(GRAPHQL_LIMITS.given / GRAPHQL_LIMITS.calls - 50)).toBe(GRAPHQL_LIMITS.calls);
    expect(() => planned(GRAPHQL_LIMITS.given / GRAPHQL_LIMITS.calls + 50)).toThrow('are given');
  });

  it('reports few wrong values, because each report repeats the whole object', () => {
    const document = readDocument(SCHEMA, 'query ($filter: ContactFilter) { contacts(filter: $filter) { totalCount } }');
    const filter = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`unknown${n}`, n]));
    // The last one says that there are more.
    expect(() => planOf(SCHEMA, document, { operationName: null, variables: { filter } })).toThrow(
      expect.toSatisfy(({ errors }: GraphqlRefusal) => errors.length === 4),
    );
  });
});
