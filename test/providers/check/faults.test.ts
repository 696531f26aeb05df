/** Several faults of a definition at once, each with its line and key. */
import { expect, it } from 'vitest';
import { DefinitionError } from '../../../src/providers/definition-error.ts';
import { compileProvider, faultsOf } from '../../../src/providers/definition/compile-provider.ts';
import { definition, LEAST, refused } from '../definition/support.ts';

const keys = (text: string): string[] => faultsOf(definition(text)).map((fault) => (fault instanceof DefinitionError ? fault.key : ''));

it('a sound definition has none', () => {
  expect(keys(LEAST)).toEqual([]);
});

it('wrong names and types are found together, in the order of their lines', () => {
  expect(keys(`nmae: x\ntimeoutMs: fast\n${LEAST}  revael: {}\n`)).toEqual(['nmae', 'timeoutMs', 'operations.revael']);
});

const MANY = `baseUrl: ftp://acme.example
defaultPlan: pro
operations:
  enrich:
    keys: [email, email]
    request: {path: /people, query: {email: "email &&", n: "$now()"}}
    answers: {match: "status =", miss: "$random() > 1", code: body.code}
    record: {email: "body.(", company: {name: "name)"}}
    batch: {size: 5, request: {method: GET, path: /b, body: lookups}, items: "body["}
  verify: {request: {path: v}, record: body}
`;

it('faults of requests, rules, records and batches are found together', () => {
  expect(keys(MANY)).toEqual([
    'baseUrl',
    'defaultPlan',
    'operations.enrich.keys[1]',
    'operations.enrich.request.query.email',
    'operations.enrich.request.query.n',
    'operations.enrich.answers.match',
    'operations.enrich.answers.miss',
    'operations.enrich.record.email',
    'operations.enrich.record.company.name',
    'operations.enrich.batch.request.body',
    'operations.verify.request.path',
  ]);
});

it('a fault makes no other key look unused, or missing', () => {
  const inPath = LEAST.replace('/people/{email}', '/people/{email &&}').replace(
    'record:',
    'answers: {pending: "status ="}\n    poll: {}\n    record:',
  );
  expect(keys(inPath)).toEqual(['operations.enrich.request.path', 'operations.enrich.answers.pending']);
  const inQuery = LEAST.replace('path: /people/{email}', 'path: /people\n      query: {email: "email &&"}');
  expect(keys(inQuery)).toEqual(['operations.enrich.request.query.email']);
});

it('compiling ends with a fault that is among them', () => {
  expect(faultsOf(definition(MANY)).map(({ message }) => message)).toContain(refused(MANY).message);
  expect(() => compileProvider(definition(LEAST))).not.toThrow();
});
