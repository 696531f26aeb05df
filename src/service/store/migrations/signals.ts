/** Whom signals are about, and from which reports they are. Steps of the schema. */
import { cleanAgain } from '../clean-again.ts';
import { putSignalKeys } from '../signal-person.ts';
import type { Migration } from './migration.ts';

export const SIGNALS: readonly Migration[] = [
  {
    version: 7,
    name: 'signals by the id of whom they are about',
    sql: `
      ALTER TABLE signals ADD COLUMN person_id TEXT;
      UPDATE signals SET person_id = doc ->> '$.person.id' WHERE doc ->> '$.person.id' IS NOT NULL;
      CREATE INDEX signals_by_person_id ON signals (person_id) WHERE person_id IS NOT NULL;
    `,
  },
  {
    version: 15,
    name: 'signals merged from many reports',
    // `observed_at` (epoch milliseconds) is of the newest report, `field_sources` what is of another; null for those of before, of which the text says when they were noticed.
    sql: `
      ALTER TABLE signals ADD COLUMN observed_at INTEGER;
      ALTER TABLE signals ADD COLUMN field_sources TEXT;
    `,
  },
  {
    version: 23,
    name: 'signals without the addresses and numbers of people',
    // SHA-256 digests, as `suppressions` has them: an erasure finds a signal by them.
    sql: `
      CREATE TABLE signal_keys (
        key BLOB NOT NULL,
        signal INTEGER NOT NULL,
        PRIMARY KEY (key, signal)
      ) STRICT, WITHOUT ROWID;
      CREATE INDEX signal_keys_by_signal ON signal_keys (signal);
      CREATE TRIGGER signal_keys_go AFTER DELETE ON signals BEGIN DELETE FROM signal_keys WHERE signal = old.seq; END;
      DROP INDEX signals_by_person;
      ALTER TABLE signals DROP COLUMN person_email;
    `,
    run: (store) => {
      putSignalKeys(store);
      cleanAgain(store);
    },
  },
];
