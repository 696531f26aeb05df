/** Tables of webhooks and their outbox; and of job changes, which are in the directory. Times are epoch ms. */
export const WEBHOOK_TABLES = `
  -- Subscriptions.
  CREATE TABLE webhooks (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    key_id TEXT NOT NULL,
    url TEXT NOT NULL,
    events TEXT NOT NULL,         -- JSON
    filter TEXT NOT NULL,         -- JSON
    enabled INTEGER NOT NULL,
    disabled_reason TEXT,
    disabled_at INTEGER,
    failing_since INTEGER,
    secret BLOB NOT NULL,
    former_secret BLOB,           -- signs too, until former_until
    former_until INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    signals_seq INTEGER NOT NULL, -- signals up to this one are fanned out
    changes_seq INTEGER NOT NULL, -- job_changes up to this one are fanned out
    dropped INTEGER NOT NULL DEFAULT 0
  ) STRICT;
  CREATE INDEX webhooks_by_key ON webhooks (key_id);

  -- The outbox: events to deliver, and the outcome.
  CREATE TABLE webhook_deliveries (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    key_id TEXT NOT NULL,
    channel TEXT NOT NULL,        -- the webhook's id, or the key's for a URL that came with a request
    url TEXT,
    host TEXT NOT NULL,
    type TEXT NOT NULL,
    body BLOB NOT NULL,           -- compressed
    signal TEXT,                  -- ids in the body, for erasures
    person TEXT,
    created_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    round INTEGER NOT NULL DEFAULT 0,       -- how often its attempts began again
    attempts INTEGER NOT NULL DEFAULT 0,
    next_at INTEGER,              -- the next attempt, or when another process may take it over; null: settled
    last_at INTEGER,
    last_status INTEGER,
    last_error TEXT
  ) STRICT;
  CREATE INDEX webhook_deliveries_by_channel ON webhook_deliveries (channel);
  CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_at) WHERE next_at IS NOT NULL;
  CREATE INDEX webhook_deliveries_due_by_host ON webhook_deliveries (key_id, host, next_at) WHERE next_at IS NOT NULL;
  CREATE INDEX webhook_deliveries_settled ON webhook_deliveries (created_at) WHERE next_at IS NULL;
`;

export const JOB_CHANGE_TABLES = `
  -- Changes of jobs that are not yet fanned out.
  CREATE TABLE job_changes (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    person TEXT NOT NULL,         -- people.id
    doc TEXT NOT NULL,            -- JSON
    at INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX job_changes_by_person ON job_changes (person);
`;
