/** What search sorts and looks into besides the sets of rows. Steps of the schema. */
import { putAliasCompanies } from '../put-alias-companies.ts';
import { putNameTails, putSortKeys } from '../put-sort-keys.ts';
import type { Migration } from './migration.ts';

export const SEARCH: readonly Migration[] = [
  {
    version: 9,
    name: 'what people are sorted by, in columns',
    // Of 4,096 rows a chunk (docs/decisions/search.md). `people.headcount` is not filled any more: taking a column away would write every row again.
    sql: `
      DROP INDEX people_by_time;
      DROP INDEX people_by_headcount;
      DROP INDEX people_by_rank;
      ${['person_times', 'person_ranks', 'person_names', 'person_id_heads', 'person_id_tails', 'company_sizes'].map((name) => `
      CREATE TABLE ${name} (
        chunk INTEGER PRIMARY KEY,
        least INTEGER NOT NULL,
        most INTEGER NOT NULL,
        unit INTEGER NOT NULL,
        codes BLOB NOT NULL
      ) STRICT;`).join('')}
    `,
    run: putSortKeys,
  },
  {
    version: 12,
    name: 'more of the names that people are sorted by',
    sql: `
      ALTER TABLE person_names RENAME TO person_name_heads;
      CREATE TABLE person_name_tails (
        chunk INTEGER PRIMARY KEY,
        least INTEGER NOT NULL,
        most INTEGER NOT NULL,
        unit INTEGER NOT NULL,
        codes BLOB NOT NULL
      ) STRICT;
    `,
    run: putNameTails,
  },
  {
    version: 14,
    name: 'search knows other domains of companies',
    // By the number of such a domain that of the company, as the columns of what is sorted by are.
    sql: `
      CREATE TABLE alias_companies (
        chunk INTEGER PRIMARY KEY,
        least INTEGER NOT NULL,
        most INTEGER NOT NULL,
        unit INTEGER NOT NULL,
        codes BLOB NOT NULL
      ) STRICT;
    `,
    run: putAliasCompanies,
  },
];
