/** What is kept of a record, and how it is cleaned and compared. Steps of the schema. */
import { cleanAgain, codesAgain, foldAgain } from '../clean-again.ts';
import { putShownSignals } from '../shown-signals.ts';
import type { Migration } from './migration.ts';

export const RECORDS: readonly Migration[] = [
  {
    version: 10,
    name: 'signals with the company that shows them, and which fields a record lacks',
    // `lacks` (kept-text.ts) is null where a text has to be looked through, as those of before.
    sql: `
      ALTER TABLE companies ADD COLUMN shown_signals TEXT;
      ALTER TABLE companies ADD COLUMN lacks INTEGER;
      ALTER TABLE people ADD COLUMN lacks INTEGER;
    `,
    run: putShownSignals,
  },
  {
    version: 11,
    name: 'records as they are cleaned today, with null for the absent parts of objects; other numbers of people',
    sql: `
      CREATE TABLE other_numbers (
        number TEXT NOT NULL,
        person INTEGER NOT NULL,
        PRIMARY KEY (number, person)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX other_numbers_by_person ON other_numbers (person);
    `,
    run: cleanAgain,
  },
  {
    version: 13,
    name: 'names and words of all scripts as they are compared today',
    sql: '',
    run: foldAgain,
  },
  {
    version: 16,
    name: 'codes of industries by up to eight digits',
    sql: '',
    run: codesAgain,
  },
];
