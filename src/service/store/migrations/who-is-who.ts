/** By what else people and companies are known, and who asked to be removed. Steps of the schema. */
import { putAliases } from '../domain-aliases.ts';
import { putOtherAddresses } from '../other-addresses.ts';
import type { Migration } from './migration.ts';

export const WHO_IS_WHO: readonly Migration[] = [
  {
    version: 5,
    name: 'other domains of companies',
    // Several companies may claim one.
    sql: `
      CREATE TABLE domain_aliases (
        alias TEXT NOT NULL,
        domain TEXT NOT NULL,
        PRIMARY KEY (alias, domain)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX domain_aliases_by_company ON domain_aliases (domain);
    `,
    run: putAliases,
  },
  {
    version: 6,
    name: 'other addresses that several people have',
    sql: `
      DROP TABLE other_addresses;
      CREATE TABLE other_addresses (
        email TEXT NOT NULL,
        person INTEGER NOT NULL,
        PRIMARY KEY (email, person)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX other_addresses_by_person ON other_addresses (person);
    `,
    run: putOtherAddresses,
  },
  {
    version: 8,
    name: 'suppressions by time',
    sql: 'CREATE INDEX suppressions_by_time ON suppressions (at)',
  },
  {
    version: 17,
    name: 'former profiles and other ids of people',
    // `profile:` or `id:` and the key. Of people of before it is not known.
    sql: `
      CREATE TABLE other_keys (
        key TEXT NOT NULL,
        person INTEGER NOT NULL,
        PRIMARY KEY (key, person)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX other_keys_by_person ON other_keys (person);
    `,
  },
];
