import * as fc from '../../../support/fast-check.ts';
import { describe, expect, it } from 'vitest';
import { exportRecords } from '../../../../src/service/admin/export/export-records.ts';
import { replaceSynonyms } from '../../../../src/service/admin/import/synonyms.ts';
import { NO_VALUE } from '../../../../src/service/http/values.ts';
import { emptyStore, load } from '../../loading.ts';

const used = (field: string, value: unknown): unknown => {
  const values: Record<string, unknown> = { [field]: value };
  replaceSynonyms(values);
  return values[field];
};

/** Ways to write a word in a cell. */
const written = (word: string) =>
  fc.constantFrom(
    word,
    word.toUpperCase(),
    ` ${word} `,
    word.replaceAll('_', ' '),
    word.replaceAll('_', '-'),
    `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`,
  );

describe('fixed sets of words for addresses and ranks', () => {
  it.each([
    ['email_status', 'verified', ['verified', 'valid', 'deliverable']],
    ['email_status', 'risky', ['risky', 'catch_all', 'accept_all']],
    ['email_status', 'unverified', ['unverified', 'guessed']],
    ['email_status', 'bounced', ['bounced', 'invalid', 'undeliverable', 'hard_bounced']],
    ['email_status', undefined, ['unknown']],
    ['email_type', 'work', ['work', 'business']],
    ['email_type', 'personal', ['personal', 'private']],
    ['seniority', 'c_suite', ['c_level', 'c_suite', 'cxo']],
  ])('%s is %s for every synonym in any spelling', (field, word, others) => {
    fc.assert(
      fc.property(fc.constantFrom(...others).chain(written), (cell) => {
        expect(used(field, cell)).toBe(word);
      }),
    );
  });

  it('an unknown word is dropped from a closed set, and kept in an open one', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.constantFrom('weird', 'constructor', '__proto__', 'opted out'),
          fc.array(fc.integer(), { minLength: 1 }),
          fc.integer(),
          fc.dictionary(fc.string(), fc.string()),
        ),
        (value) => {
          expect([used('email_status', value), used('email_type', value), used('seniority', value)]).toEqual([NO_VALUE, NO_VALUE, value]);
        },
      ),
    );
  });

  it('an unknown word is counted, and its row is stored, in tables and JSON lines, and for companies too', async () => {
    for (const rows of [
      [
        ['email', 'email_status', 'email_type', 'seniority', '# Employees'],
        ['ada@acme.example', 'weird', 'x', 'C-Level', '5'],
        ['bob@acme.example', 'valid', 'Business', 'Boss', 'lots'],
      ],
      [
        { email: 'ada@acme.example', email_status: 'weird', email_type: 'x', seniority: 'C-Level', company: { employees: 5 } },
        { email: 'bob@acme.example', email_status: 'valid', email_type: 'Business', seniority: 'Boss', company: { employees: 'lots' } },
      ],
    ]) {
      const store = await emptyStore();
      const { counts } = await load(store, rows);
      expect(counts).toMatchObject({ added: 2, rejected: {}, dropped: { email_status: 1, email_type: 1, 'company.employees': 1 } });
      expect([...counts.firstDropped]).toEqual([
        ['email_status', 2],
        ['email_type', 2],
        ['company.employees', 3],
      ]);
      const [ada = {}, bob = {}] = [...exportRecords(store, 'contacts', false)];
      expect(ada).toMatchObject({ seniority: 'c_suite' });
      expect(Object.keys(ada)).not.toEqual(expect.arrayContaining([expect.stringMatching(/^email_(status|type)$/)]));
      expect(bob).toMatchObject({ email_status: 'verified', email_type: 'work', seniority: 'boss' });
      store.close();
    }
  });

  it('an unknown word in a row does not replace the status of a bought address', async () => {
    for (const rows of [
      [
        ['Email', 'Email Status', 'enrich.email', 'enrich.verified', 'result.outcome'],
        ['ada@acme.example', 'weird', 'ada@acme.example', 'true', 'matched'],
      ],
      [
        {
          input: { Email: 'ada@acme.example', 'Email Status': 'weird' },
          result: { outcome: 'matched' },
          enrich: { email: 'ada@acme.example', verified: true },
        },
      ],
    ]) {
      const store = await emptyStore();
      expect((await load(store, rows)).counts.dropped).toEqual({});
      expect([...exportRecords(store, 'contacts', false)]).toMatchObject([{ email: 'ada@acme.example', email_status: 'verified' }]);
      store.close();
    }
  });
});
