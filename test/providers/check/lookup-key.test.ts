/** Keys of a call as a person types them. */
import { expect, it } from 'vitest';
import { lookupOf, operationFor } from '../../../src/providers/check/lookup-key.ts';
import { compiled } from '../definition/support.ts';

it.each([
  ['jane@example.com', { email: 'jane@example.com' }],
  [' example.com ', { domain: 'example.com' }],
  ['https://www.linkedin.com/in/jane', { linkedin_url: 'https://www.linkedin.com/in/jane' }],
  ['+1 212 555 0100', { phone: '+1 212 555 0100' }],
  ['name=Jane Roe,domain=example.com', { name: 'Jane Roe', domain: 'example.com' }],
  ['name=Roe, Jane,company=Roe, Inc', { name: 'Roe, Jane', company: 'Roe, Inc' }],
])('%s is read as a key', (text, lookup) => {
  expect(lookupOf(text)).toEqual(lookup);
});

it.each([
  ['jane', /"jane" is no key to look up/],
  ['', /is no key to look up/],
  ['nmae=Jane', /There is no key "nmae"; did you mean name\?/],
  ['name=', /name has no value/],
])('%j is refused', (text, message) => {
  expect(() => lookupOf(text)).toThrow(message);
});

it('the first operation that takes the key is asked, and a key that none takes is refused', () => {
  const { operations } = compiled(`operations:
  enrich: {keys: [name+domain], request: {path: /p, query: {n: name, d: domain}}, record: body}
  verify: {request: {path: /v, query: {e: email}}, record: {result: body.r}}
`);
  const declared = Object.values(operations);
  expect(operationFor({ email: 'jane@example.com' }, declared)).toBe('verify');
  expect(operationFor({ first_name: 'Jane', domain: 'example.com' }, declared)).toBe('enrich');
  expect(() => operationFor({ domain: 'example.com' }, declared)).toThrow('No operation takes domain');
});
