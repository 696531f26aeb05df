/** What became of mails, the quotas of keys, and verifications that come later. Steps of the schema. */
import type { Migration } from './migration.ts';

export const MAILS_AND_KEYS: readonly Migration[] = [
  {
    version: 3,
    name: 'what became of mails',
    // Of each address the newest of its kind, epoch milliseconds: however long a log is, it adds a row an address.
    sql: `
      CREATE TABLE deliveries (
        email TEXT PRIMARY KEY,
        delivered_at INTEGER,
        bounced_at INTEGER
      ) STRICT, WITHOUT ROWID;
    `,
  },
  {
    version: 4,
    name: 'buckets of keys, verifications that come later',
    // `tokens` is what a key's bucket has at the least at `tokens_at`, epoch milliseconds; null: it was never used.
    sql: `
      ALTER TABLE keys ADD COLUMN tokens REAL;
      ALTER TABLE keys ADD COLUMN tokens_at INTEGER;
      ALTER TABLE keys ADD COLUMN rotated_at INTEGER;
      CREATE TABLE verifications (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        key_id TEXT NOT NULL,
        started_at INTEGER NOT NULL,
        request BLOB NOT NULL,
        results BLOB,
        done INTEGER NOT NULL DEFAULT 0,
        paid INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX verifications_by_age ON verifications (started_at);
    `,
  },
  {
    version: 25,
    name: 'a former secret of a key that is let in for a while',
    // Until `former_until`, epoch milliseconds.
    sql: `
      ALTER TABLE keys ADD COLUMN former_hash BLOB;
      ALTER TABLE keys ADD COLUMN former_until INTEGER;
      CREATE INDEX keys_by_former_hash ON keys (former_hash) WHERE former_hash IS NOT NULL;
    `,
  },
];
