/** Webhooks, and what is to be delivered to them. Steps of the schema. */
import type { Migration } from './migration.ts';

export const WEBHOOKS: readonly Migration[] = [
  {
    version: 19,
    name: 'webhooks, what is to be delivered to them, and changes of jobs that are to be told',
    // Times are epoch milliseconds. `next_at` of a delivery: when it is tried, or taken over from a process that has not come to an end with it; null: it is settled.
    // Its `channel` is the webhook, or the key where it goes to a `url` that came with a request. Signals and changes up to `signals_seq` and `changes_seq` have been looked at for a webhook.
    sql: `
      CREATE TABLE webhooks (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        key_id TEXT NOT NULL,
        url TEXT NOT NULL,
        events TEXT NOT NULL,
        filter TEXT NOT NULL,
        enabled INTEGER NOT NULL,
        disabled_reason TEXT,
        secret BLOB NOT NULL,
        former_secret BLOB,
        former_until INTEGER,
        created_at INTEGER NOT NULL,
        updated_at INTEGER NOT NULL,
        signals_seq INTEGER NOT NULL,
        changes_seq INTEGER NOT NULL,
        dropped INTEGER NOT NULL DEFAULT 0
      ) STRICT;
      CREATE INDEX webhooks_by_key ON webhooks (key_id);
      CREATE TABLE webhook_deliveries (
        seq INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        key_id TEXT NOT NULL,
        channel TEXT NOT NULL,
        url TEXT,
        host TEXT NOT NULL,
        type TEXT NOT NULL,
        body BLOB NOT NULL,
        signal TEXT,
        person TEXT,
        created_at INTEGER NOT NULL,
        state TEXT NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0,
        next_at INTEGER,
        last_at INTEGER,
        last_status INTEGER,
        last_error TEXT
      ) STRICT;
      CREATE INDEX webhook_deliveries_by_channel ON webhook_deliveries (channel);
      CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at);
      CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_at) WHERE next_at IS NOT NULL;
      CREATE INDEX webhook_deliveries_due_by_host ON webhook_deliveries (host, next_at) WHERE next_at IS NOT NULL;
      CREATE TABLE job_changes (
        seq INTEGER PRIMARY KEY AUTOINCREMENT,
        person TEXT NOT NULL,
        doc TEXT NOT NULL,
        at INTEGER NOT NULL
      ) STRICT;
      CREATE INDEX job_changes_by_person ON job_changes (person);
    `,
  },
  {
    version: 21,
    name: 'deliveries that are due by key and host',
    sql: `
      DROP INDEX webhook_deliveries_due_by_host;
      CREATE INDEX webhook_deliveries_due_by_lane ON webhook_deliveries (key_id, host, next_at) WHERE next_at IS NOT NULL;
    `,
  },
  {
    version: 22,
    name: 'how often a delivery was begun anew, which are settled and old, and since when a webhook fails or is disabled',
    sql: `
      ALTER TABLE webhooks ADD COLUMN disabled_at INTEGER;
      ALTER TABLE webhooks ADD COLUMN failing_since INTEGER;
      UPDATE webhooks SET disabled_at = updated_at WHERE enabled = 0;
      ALTER TABLE webhook_deliveries ADD COLUMN round INTEGER NOT NULL DEFAULT 0;
      DROP INDEX webhook_deliveries_by_age;
      CREATE INDEX webhook_deliveries_settled ON webhook_deliveries (created_at) WHERE next_at IS NULL;
    `,
  },
];
