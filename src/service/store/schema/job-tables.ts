/** Tables of asynchronous verifications and of batch jobs. Times are epoch ms. */
export const JOB_TABLES = `
  -- Asynchronous verifications.
  CREATE TABLE verifications (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    key_id TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    request BLOB NOT NULL,        -- JSON, zstd
    results BLOB,                 -- JSON, zstd
    done INTEGER NOT NULL DEFAULT 0,
    paid INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX verifications_by_age ON verifications (started_at);

  -- Batch jobs. Their lines and results are files in STORE.batches/.
  CREATE TABLE batches (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    key_id TEXT NOT NULL,
    state TEXT NOT NULL,
    reason TEXT,                  -- JSON: why it failed
    request TEXT NOT NULL,        -- JSON
    times TEXT NOT NULL,          -- JSON: when it entered each state
    header TEXT,                  -- JSON: the columns of its CSV
    total INTEGER NOT NULL DEFAULT 0,
    succeeded INTEGER NOT NULL DEFAULT 0,
    not_found INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    credits INTEGER NOT NULL DEFAULT 0,
    parts INTEGER NOT NULL DEFAULT 0,       -- uploaded, and their bytes
    part_bytes INTEGER NOT NULL DEFAULT 0,
    part INTEGER NOT NULL DEFAULT 0,        -- the next line: its part, the byte in that, and its number
    part_offset INTEGER NOT NULL DEFAULT 0,
    line INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    looked_at INTEGER             -- when results were last searched for erased people
  ) STRICT;
  CREATE INDEX batches_by_state ON batches (state);
  CREATE INDEX batches_by_key ON batches (key_id, seq);
  CREATE INDEX batches_by_end ON batches (ended_at) WHERE ended_at IS NOT NULL;

  -- Files of batch jobs. Bytes of a file beyond its valid length count for nothing.
  CREATE TABLE batch_files (
    batch INTEGER NOT NULL,       -- batches.seq
    kind TEXT NOT NULL,
    n INTEGER NOT NULL,
    file TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    PRIMARY KEY (batch, kind, n)
  ) STRICT, WITHOUT ROWID;

  -- Bytes of all files of a key's jobs.
  CREATE TABLE batch_bytes (
    key_id TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;

  -- The one process that works on batch jobs.
  CREATE TABLE batch_lease (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    owner TEXT NOT NULL,
    until INTEGER NOT NULL
  ) STRICT;
`;
