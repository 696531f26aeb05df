/** Tables of API keys, and of first answers under an Idempotency-Key. */
export const ACCOUNT_TABLES = `
  -- API keys with their plan, credits and quota.
  CREATE TABLE keys (
    id TEXT PRIMARY KEY,
    hash BLOB NOT NULL UNIQUE,    -- SHA-256 of the secret
    label TEXT,
    plan TEXT NOT NULL,
    region TEXT NOT NULL,
    credits INTEGER,              -- null: unlimited
    credits_used INTEGER NOT NULL DEFAULT 0,
    calls_used INTEGER NOT NULL DEFAULT 0,
    tokens REAL,                  -- a lower bound of the token bucket at tokens_at; null: never used
    tokens_at INTEGER,            -- epoch ms
    created_at INTEGER NOT NULL,
    rotated_at INTEGER,
    former_hash BLOB,             -- the secret before the rotation, valid until former_until
    former_until INTEGER,
    revoked_at INTEGER
  ) STRICT;
  CREATE INDEX keys_by_former_hash ON keys (former_hash) WHERE former_hash IS NOT NULL;

  -- First answers under an Idempotency-Key, for replays.
  CREATE TABLE answers (
    seq INTEGER PRIMARY KEY,
    scope BLOB NOT NULL UNIQUE,   -- digest of the API key and the Idempotency-Key
    request BLOB NOT NULL,        -- digest of the request
    at INTEGER NOT NULL,          -- when the request came, epoch ms
    status INTEGER NOT NULL,
    headers TEXT,                 -- JSON
    named TEXT,                   -- JSON: people and signals that the answer names, for erasures
    sealed TEXT,                  -- an encrypted part of the text
    block INTEGER,                -- answer_blocks.position; null: the text was dropped or erased
    text_from INTEGER,            -- bytes within the decompressed block
    text_to INTEGER
  ) STRICT;
  CREATE INDEX answers_by_age ON answers (at);

  -- Texts of several answers, compressed together. position counts the bytes of all blocks up to this one's end.
  CREATE TABLE answer_blocks (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,          -- of the newest answer, epoch ms
    texts BLOB NOT NULL           -- zstd
  ) STRICT;
`;
