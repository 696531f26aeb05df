import { expect, it } from 'vitest';
import { Documents } from '../../../src/service/graphql/documents.ts';
import { Refusal } from '../../../src/service/graphql/refusal.ts';
import { SCHEMA } from './asking.ts';

const document = (name: string, length = 60): string => `{ company(domain: "${name}") { name } }`.padEnd(length);

it('a text that comes again is not read again, and another one is', () => {
  const documents = new Documents(SCHEMA);
  const first = documents.read(document('a'));
  expect(documents.read(document('a'))).toBe(first);
  expect(documents.read(document('b'))).not.toBe(first);
  expect(JSON.stringify(documents.read(document('b')))).toContain('"value":"b"');
});

it('what is refused is refused each time', () => {
  const documents = new Documents(SCHEMA);
  for (let n = 0; n < 2; n++) expect(() => documents.read('{ nothing }')).toThrow(Refusal);
});

it('so much is kept, of what was asked for last: what is long is not, and what is asked for all the time stays', () => {
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
