import { describe, expect, it } from 'vitest';
import { isBlank } from '../../../src/service/records/empty-words.ts';
import { exportRecords } from '../../../src/service/admin/export/export-records.ts';
import { emptyStore, load } from '../loading.ts';

const EMPTY = [
  '',
  ' ',
  '\t',
  'NULL',
  'null',
  ' N/A ',
  'n/a',
  '#N/A',
  'none',
  'None',
  '-',
  '\\N',
  'NaN',
  '#REF!',
  'undefined',
  '(blank)',
  '\u2014',
];

it.each(EMPTY)('%j says that there is no value', (word) => expect(isBlank(word)).toBe(true));

it.each(['Null', 'NA', 'Nan', 'Nil', 'No', '0', 'Nonesuch', '-5', '.NET', '#1 Media', 'N/A Ltd'])('%j is a value', (text) =>
  expect(isBlank(text)).toBe(false),
);

describe('words for an absent value in a file', () => {
  it.each(EMPTY.filter((word) => word.trim() !== ''))(
    '%j replaces nothing, is stored nowhere and is not counted as dropped',
    async (word) => {
      const store = await emptyStore();
      await load(store, [{ email: 'ada@acme.example', name: 'Ada Example', title: 'CTO', updated_at: '2025-01-01' }]);
      const header = [
        'Email',
        'Work Email',
        'Name',
        'Job Title',
        'City',
        'Country',
        'Phone',
        'Website',
        'Annual Revenue',
        'Skills',
        'Updated At',
      ];
      const table = await load(store, [header, [word, 'ada@acme.example', word, word, word, word, word, word, word, word, '2025-02-01']]);
      const object = {
        email: 'ada@acme.example',
        title: word,
        location: { city: word },
        skills: [word],
        education: [{ school: word }],
        updated_at: '2025-03-01',
      };
      const lines = await load(store, [object]);
      expect([table.counts.dropped, lines.counts.dropped]).toEqual([{}, {}]);
      const [person] = [...exportRecords(store, 'contacts', false)];
      store.close();
      expect(person).toMatchObject({ email: 'ada@acme.example', name: 'Ada Example', title: 'CTO', company_domain: 'acme.example' });
      expect(JSON.stringify(person)).not.toContain(JSON.stringify(word));
    },
  );
});
