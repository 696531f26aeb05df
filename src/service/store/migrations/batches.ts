/** Batch jobs. Steps of the schema. */
import type { Migration } from './migration.ts';

export const BATCHES: readonly Migration[] = [
  {
    version: 18,
    name: 'batch jobs',
    // The lines themselves and their results are files beside the store: of each the table has the name, and how many of its bytes count. One process works on all jobs: whoever has the lease.
    sql: `
      CREATE TABLE batches (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        key_id TEXT NOT NULL,
        state TEXT NOT NULL,
        reason TEXT,
        request TEXT NOT NULL,
        times TEXT NOT NULL,
        header TEXT,
        total INTEGER NOT NULL DEFAULT 0,
        succeeded INTEGER NOT NULL DEFAULT 0,
        not_found INTEGER NOT NULL DEFAULT 0,
        failed INTEGER NOT NULL DEFAULT 0,
        credits INTEGER NOT NULL DEFAULT 0,
        part INTEGER NOT NULL DEFAULT 0,
        part_offset INTEGER NOT NULL DEFAULT 0,
        line INTEGER NOT NULL DEFAULT 0,
        created_at INTEGER NOT NULL,
        ended_at INTEGER,
        looked_at INTEGER
      ) STRICT;
      CREATE INDEX batches_by_state ON batches (state);
      CREATE INDEX batches_by_key ON batches (key_id, seq);
      CREATE INDEX batches_by_end ON batches (ended_at) WHERE ended_at IS NOT NULL;
      CREATE TABLE batch_files (
        batch INTEGER NOT NULL,
        kind TEXT NOT NULL,
        n INTEGER NOT NULL,
        file TEXT NOT NULL,
        bytes INTEGER NOT NULL,
        PRIMARY KEY (batch, kind, n)
      ) STRICT, WITHOUT ROWID;
      CREATE TABLE batch_lease (
        one INTEGER PRIMARY KEY CHECK (one = 1),
        owner TEXT NOT NULL,
        until INTEGER NOT NULL
      ) STRICT;
    `,
  },
  {
    version: 20,
    name: 'sums of the files of batch jobs',
    // What a job was sent stays with the job, so that a part of which the file is gone needs no row; `batch_bytes` is what a key's jobs have on the disk.
    sql: `
      ALTER TABLE batches ADD COLUMN parts INTEGER NOT NULL DEFAULT 0;
      ALTER TABLE batches ADD COLUMN part_bytes INTEGER NOT NULL DEFAULT 0;
      UPDATE batches SET (parts, part_bytes) = (SELECT count(*), coalesce(sum(bytes), 0) FROM batch_files WHERE batch = seq AND kind <> 'results');
      DELETE FROM batch_files WHERE kind = 'sent';
      CREATE TABLE batch_bytes (
        key_id TEXT PRIMARY KEY,
        bytes INTEGER NOT NULL
      ) STRICT, WITHOUT ROWID;
      INSERT INTO batch_bytes (key_id, bytes) SELECT key_id, sum(bytes) FROM batch_files JOIN batches ON seq = batch GROUP BY key_id;
    `,
  },
];
