/** What the store began with: companies, people, those who asked to be removed, keys, answers, signals, and the tables of search. Steps of the schema. */
import { putAgain } from '../put-again.ts';
import type { Migration } from './migration.ts';

/** What search looks into (docs/decisions/search.md). `at` of a posting is the term's number times 65,536 and the block; `terms` of a row are those that it has now. */
const SEARCH_TABLES = `
  CREATE TABLE person_terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE person_postings (at INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT;
  CREATE TABLE person_term_lists (person INTEGER PRIMARY KEY, terms BLOB NOT NULL) STRICT;
  CREATE TABLE company_terms (id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE company_postings (at INTEGER PRIMARY KEY, bits BLOB NOT NULL) STRICT;
  CREATE TABLE domains (id INTEGER PRIMARY KEY, domain TEXT NOT NULL UNIQUE) STRICT;
  CREATE TABLE employers (chunk INTEGER PRIMARY KEY, ids BLOB NOT NULL) STRICT;
`;

export const FIRST_TABLES: readonly Migration[] = [
  {
    version: 1,
    name: 'companies, people, suppressions, keys, idempotency',
    // `doc` holds the record as JSON without what is null; what is looked up by stands beside it in columns.
    // A suppressed person is known by the digest of the address alone: erasure leaves nothing else behind.
    sql: `
      CREATE TABLE companies (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        domain TEXT NOT NULL UNIQUE,
        accepts_all INTEGER,
        email_pattern TEXT,
        doc TEXT NOT NULL
      ) STRICT;
      CREATE TABLE people (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        email TEXT UNIQUE,
        company_domain TEXT,
        email_status TEXT,
        email_verified_at INTEGER,
        doc TEXT NOT NULL
      ) STRICT;
      CREATE INDEX people_by_company ON people (company_domain);
      CREATE TABLE suppressions (
        email_sha256 BLOB PRIMARY KEY,
        at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE keys (
        id TEXT PRIMARY KEY,
        hash BLOB NOT NULL UNIQUE,
        label TEXT,
        plan TEXT NOT NULL,
        region TEXT NOT NULL,
        credits INTEGER,
        credits_used INTEGER NOT NULL DEFAULT 0,
        calls_used INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        revoked_at INTEGER
      ) STRICT;
      CREATE TABLE idempotency (
        scope BLOB PRIMARY KEY,
        request BLOB NOT NULL,
        status INTEGER NOT NULL,
        kind TEXT NOT NULL,
        payload BLOB NOT NULL,
        at INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX idempotency_by_age ON idempotency (at);
    `,
  },
  {
    version: 2,
    name: 'records merged from many sources, more ways to look people up, signals, search',
    // `observed_at` is of when the newest of a record is, `field_sources` what in it is of another source or time than the record as such.
    sql: `
      DROP INDEX people_by_company;
      ALTER TABLE people RENAME TO people_v1;
      ALTER TABLE companies RENAME TO companies_v1;
      CREATE TABLE sources (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE
      ) STRICT;
      CREATE TABLE companies (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        domain TEXT NOT NULL UNIQUE,
        accepts_all INTEGER,
        email_pattern TEXT,
        employees INTEGER,
        country TEXT,
        industry TEXT,
        terms BLOB,
        doc TEXT NOT NULL,
        source INTEGER NOT NULL,
        observed_at INTEGER NOT NULL,
        field_sources TEXT
      ) STRICT;
      CREATE TABLE people (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        email TEXT UNIQUE,
        profile TEXT,
        mobile TEXT,
        name_key TEXT NOT NULL,
        company_domain TEXT,
        email_status TEXT,
        email_verified_at INTEGER,
        headcount INTEGER NOT NULL,
        rank INTEGER NOT NULL,
        doc TEXT NOT NULL,
        source INTEGER NOT NULL,
        observed_at INTEGER NOT NULL,
        field_sources TEXT
      ) STRICT;
      CREATE INDEX people_by_company ON people (company_domain) WHERE company_domain IS NOT NULL;
      CREATE INDEX people_by_profile ON people (profile) WHERE profile IS NOT NULL;
      CREATE INDEX people_by_mobile ON people (mobile) WHERE mobile IS NOT NULL;
      CREATE INDEX people_by_name ON people (name_key, id);
      CREATE INDEX people_by_time ON people (observed_at, id);
      CREATE INDEX people_by_headcount ON people (headcount, id);
      CREATE INDEX people_by_rank ON people (rank, id);
      CREATE TABLE other_addresses (
        email TEXT PRIMARY KEY,
        person INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX other_addresses_by_person ON other_addresses (person);
      CREATE TABLE signals (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        type TEXT NOT NULL,
        occurred_at INTEGER NOT NULL,
        company_domain TEXT NOT NULL,
        country TEXT,
        industry TEXT,
        person_email TEXT,
        person_profile TEXT,
        doc TEXT NOT NULL
      ) STRICT;
      CREATE INDEX signals_by_company ON signals (company_domain, occurred_at);
      CREATE INDEX signals_by_time ON signals (occurred_at, seq);
      CREATE INDEX signals_by_type ON signals (type, occurred_at, seq);
      CREATE INDEX signals_by_country ON signals (country, occurred_at, seq) WHERE country IS NOT NULL;
      CREATE INDEX signals_by_industry ON signals (industry, occurred_at, seq) WHERE industry IS NOT NULL;
      CREATE INDEX signals_by_person ON signals (person_email) WHERE person_email IS NOT NULL;
      CREATE INDEX signals_by_profile ON signals (person_profile) WHERE person_profile IS NOT NULL;
      ${SEARCH_TABLES}
    `,
    run: putAgain,
  },
];
