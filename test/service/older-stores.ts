/** Stores as earlier versions made them: the steps of the schema undone, with what is in the store left in it as far as that version could hold it. */
import type { Store } from '../../src/service/store/store.ts';

const UNDO: Readonly<Record<number, string>> = {
  25: 'DROP INDEX keys_by_former_hash; ALTER TABLE keys DROP COLUMN former_hash; ALTER TABLE keys DROP COLUMN former_until',
  24: 'DROP TABLE answers; DROP TABLE answer_blocks',
  23: 'DROP TRIGGER signal_keys_go; DROP TABLE signal_keys; ALTER TABLE signals ADD COLUMN person_email TEXT; CREATE INDEX signals_by_person ON signals (person_email) WHERE person_email IS NOT NULL',
  22: 'DROP INDEX webhook_deliveries_settled; CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries (created_at); ALTER TABLE webhook_deliveries DROP COLUMN round; ALTER TABLE webhooks DROP COLUMN disabled_at; ALTER TABLE webhooks DROP COLUMN failing_since',
  21: 'DROP INDEX webhook_deliveries_due_by_lane; CREATE INDEX webhook_deliveries_due_by_host ON webhook_deliveries (host, next_at) WHERE next_at IS NOT NULL',
  20: `
    INSERT INTO batch_files (batch, kind, n, file, bytes) WITH RECURSIVE sent (batch, n, left, bytes) AS (SELECT seq, 1, parts, part_bytes FROM batches WHERE parts > 0 AND ended_at IS NOT NULL UNION ALL SELECT batch, n + 1, left - 1, 0 FROM sent WHERE left > 1) SELECT batch, 'sent', n, '', bytes FROM sent;
    ALTER TABLE batches DROP COLUMN parts; ALTER TABLE batches DROP COLUMN part_bytes;
    DROP TABLE batch_bytes;
  `,
  19: 'DROP TABLE webhooks; DROP TABLE webhook_deliveries; DROP TABLE job_changes',
  18: 'DROP TABLE batches; DROP TABLE batch_files; DROP TABLE batch_lease',
  17: 'DROP TABLE other_keys',
  16: '',
  15: 'ALTER TABLE signals DROP COLUMN observed_at; ALTER TABLE signals DROP COLUMN field_sources',
  14: 'DROP TABLE alias_companies',
  13: '',
  12: 'DROP TABLE person_name_tails; ALTER TABLE person_name_heads RENAME TO person_names',
  11: 'DROP TABLE other_numbers',
  10: 'ALTER TABLE people DROP COLUMN lacks; ALTER TABLE companies DROP COLUMN lacks; ALTER TABLE companies DROP COLUMN shown_signals',
  9: `
    ${['person_times', 'person_ranks', 'person_names', 'person_id_heads', 'person_id_tails', 'company_sizes'].map((name) => `DROP TABLE ${name};`).join('')}
    UPDATE people SET headcount = coalesce((SELECT employees FROM companies WHERE domain = company_domain), -1);
    CREATE INDEX people_by_time ON people (observed_at, id);
    CREATE INDEX people_by_headcount ON people (headcount, id);
    CREATE INDEX people_by_rank ON people (rank, id);
  `,
  8: 'DROP INDEX suppressions_by_time',
  7: 'DROP INDEX signals_by_person_id; ALTER TABLE signals DROP COLUMN person_id',
  6: 'DROP TABLE other_addresses; CREATE TABLE other_addresses (email TEXT PRIMARY KEY, person INTEGER NOT NULL) STRICT, WITHOUT ROWID; CREATE INDEX other_addresses_by_person ON other_addresses (person)',
  5: 'DROP TABLE domain_aliases',
  4: 'DROP TABLE verifications; ALTER TABLE keys DROP COLUMN tokens; ALTER TABLE keys DROP COLUMN tokens_at; ALTER TABLE keys DROP COLUMN rotated_at',
  3: 'DROP TABLE deliveries',
};

/** Makes a store one of that version of the schema, 2 or later. */
export function backTo(store: Store, version: number): void {
  // Where another connection has changed the schema, this one sees it from here on.
  store.prepare('SELECT 1 FROM sqlite_schema').get();
  const now = Number(store.prepare('PRAGMA user_version').get()?.['user_version']);
  for (let step = now; step > version; step--) {
    const undo = UNDO[step];
    if (undo === undefined) throw new Error(`nobody said how step ${step} is undone`);
    store.exec(undo);
  }
  store.exec(`PRAGMA user_version = ${version}`);
}
