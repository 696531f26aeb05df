/** First answers under an Idempotency-Key. Steps of the schema. */
import type { Migration } from './migration.ts';

export const ANSWERS: readonly Migration[] = [
  {
    version: 24,
    name: 'first answers, with their texts',
    // Times are epoch milliseconds. `named` is JSON; a row without a block has no text (any more), by its status because somebody was erased or for want of room (answer-rows.ts).
    sql: `
      DROP TABLE IF EXISTS idempotency;
      CREATE TABLE answers (
        seq INTEGER PRIMARY KEY,
        scope BLOB NOT NULL UNIQUE,
        request BLOB NOT NULL,
        at INTEGER NOT NULL,
        status INTEGER NOT NULL,
        headers TEXT,
        named TEXT,
        sealed TEXT,
        block INTEGER,
        text_from INTEGER,
        text_to INTEGER
      ) STRICT;
      CREATE INDEX answers_by_age ON answers (at);
      CREATE TABLE answer_blocks (
        position INTEGER PRIMARY KEY AUTOINCREMENT,
        at INTEGER NOT NULL,
        texts BLOB NOT NULL
      ) STRICT;
    `,
  },
];
