import { expect, it } from 'vitest';
import { Documents } from '../../../src/service/graphql/documents.ts';
import { GraphqlRefusal } from '../../../src/service/graphql/refusal.ts';
import { SCHEMA } from './asking.ts';

const document = (name: string, length = 60): string => `{ company(domain: "${name}") { name } }`.padEnd(length);

it('a document that comes again is parsed once, and another one anew', () => {
  const documents = new Documents(SCHEMA);
  const first = documents.read(document('a'));
  expect(documents.read(document('a'))).toBe(first);
  expect(documents.read(document('b'))).not.toBe(first);
  expect(JSON.stringify(documents.read(document('b')))).toContain('"value":"b"');
});

it('a document that is refused is refused again each time', () => {
  const documents = new Documents(SCHEMA);
  for (let n = 0; n < 2; n++) expect(() => documents.read('{ nothing }')).toThrow(GraphqlRefusal);
});

it('the cache of documents has a limit, keeps documents that are used often, and takes no long one', () => {
  const documents = new Documents(SCHEMA);
  const often = documents.read(document('often'));
  const once = documents.read(document('once'));
  const long = documents.read(document('long', 8_193));
  for (let n = 0; n < 20; n++) {
    documents.read(document(`other${n}`, 8_192));
    expect(documents.read(document('often'))).toBe(often);
  }
  expect(documents.read(document('once'))).not.toBe(once);
  expect(documents.read(document('long', 8_193))).not.toBe(long);
  const last = documents.read(document('other19', 8_192));
  expect(documents.read(document('other19', 8_192))).toBe(last);
});
