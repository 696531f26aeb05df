/** The store's schema as numbered steps. A step that was released is never edited: a change is a new step. */

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [
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
];
